"""lua/finish: a denied command loses no job, and the same call made again completes the first one."""

import json

import pytest

from tests.lua.denied.scenarios import NOW, Scenario

IDS = ("1", "2", "3")


@pytest.fixture
def three_active(add, fetch):
    """`three_active(due, **options)`: a function that prepares three active jobs and, with `due`, two due ones."""

    def of(due=False, **options):
        def prepare(queue):
            add(queue, "{}", "{}", "{}", **options)
            fetch(queue, 3, now=NOW - 10)
            if due:
                add(queue, "{}", "{}", delay=1, timestamp=NOW - 100)

        return prepare

    return of


def each(script, *before_id_and_after):
    """Return the calls of `script` for each of the three jobs; `id` stands for the job."""
    return lambda queue: [(script, *(job_id if part is id else part for part in before_id_and_after)) for job_id in IDS]


@pytest.mark.parametrize("priority", [0, 3])
@pytest.mark.parametrize("lifo", [0, 1])
@pytest.mark.parametrize("due", [False, True])
def test_jobs_are_retried(scenarios, three_active, priority, lifo, due):
    calls = each("finish/retry_job", NOW, id, "t", lifo, "boom", '["s"]')
    assert scenarios.faults(Scenario(three_active(due, priority=priority), calls)) == {}


@pytest.mark.parametrize("skip_attempt", [0, 1])
def test_jobs_are_delayed(scenarios, three_active, skip_attempt):
    calls = each("finish/move_to_delayed", NOW, id, "t", 5000, skip_attempt, "boom", '["s"]')
    assert scenarios.faults(Scenario(three_active(), calls)) == {}


@pytest.mark.parametrize("priority", [0, 3])
def test_jobs_are_given_back(scenarios, three_active, priority):
    assert scenarios.faults(Scenario(three_active(priority=priority), each("finish/move_to_wait", id, "t"))) == {}


def test_jobs_wait_for_their_children(scenarios, three_active, client):
    prepare = three_active()

    def with_children(queue):
        prepare(queue)
        for job_id in IDS:
            client.sadd(f"bull:{queue}:{job_id}:dependencies", "bull:elsewhere:1")

    calls = each("finish/move_to_waiting_children", NOW, id, "t", "")
    assert scenarios.faults(Scenario(with_children, calls)) == {}


def finishing(*each_job, target="completed", keep=-1, value="", worker_run="", results=False):
    """Return one call that finishes three jobs and fetches the next. `results`: to <queue>-results."""
    head = [NOW, 0, 2, "next", 30_000, "", "", "", 2, "", 0, worker_run]
    parts = [len(each_job), target, "t", keep, "", "", "", value, *(part for job in each_job for part in job)]

    def calls(queue):
        where = ["results", f"bull:{queue}-results:", '{"attempts":0}'] if results else []
        return [("finish/move_to_finished", *head, *where, *parts)]

    return calls


def made_again(scenarios, prepare, calls, command):
    """Make calls while a command is denied, and again when it is not; return their queue."""
    queue = scenarios.new_queue()
    scenarios.allow_all()
    prepare(queue)
    scenarios.deny(command)
    for _ in range(2):
        scenarios.attempt(queue, *calls(queue))
        scenarios.allow_all()
    return queue


COMPLETED = finishing(*((job_id, "1") for job_id in IDS))
FAILED = finishing(*((job_id, "boom", "[]", 1) for job_id in IDS), target="failed")


@pytest.mark.parametrize("due", [False, True])
def test_jobs_complete(scenarios, three_active, due):
    assert scenarios.faults(Scenario(three_active(due), COMPLETED, placed=IDS)) == {}


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("keep", [-1, 0])
@pytest.mark.parametrize("count", [3, 30])
def test_each_job_is_listed_once_in_its_run(scenarios, add, fetch, client, capped, keep, count):
    ids = tuple(str(number) for number in range(1, count + 1))
    queues = []

    def prepare(queue):
        queues.append(queue)
        add(queue, *["{}"] * count)
        fetch(queue, count, now=NOW - 10)
        if capped:
            client.hset(f"bull:{queue}:meta", "concurrency", count)

    calls = finishing(*((job_id, "1") for job_id in ids), keep=keep, worker_run="r1")
    scenario = Scenario(prepare, calls, placed=ids if keep else ())
    if keep:
        assert scenarios.faults(scenario) == {}
    else:
        for command in scenarios.commands_of(scenario)[0]:
            made_again(scenarios, prepare, calls, command)
    for queue in queues:
        assert sorted(client.lrange(f"bull:{queue}:ext:run-r1", 0, -1)) == sorted(ids)
        assert client.ttl(f"bull:{queue}:ext:run-r1") > 0


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("keep", [-1, 0])
def test_each_outcome_is_one_job_of_the_queue_for_results(scenarios, three_active, client, capped, keep):
    prepare = three_active()

    def prepared(queue):
        prepare(queue)
        if capped:
            client.hset(f"bull:{queue}:meta", "concurrency", 3)

    calls = finishing(*((job_id, "1") for job_id in IDS), keep=keep, results=True)
    for command in scenarios.commands_of(Scenario(prepared, calls, placed=IDS if keep else ()))[0]:
        queue = made_again(scenarios, prepared, calls, command)
        results = client.lrange(f"bull:{queue}-results:wait", 0, -1)
        data = [json.loads(client.hget(f"bull:{queue}-results:{job_id}", "data")) for job_id in results]
        assert sorted(one["id"] for one in data) == list(IDS), command


def one_by_one(row, target="completed", plain_fields=8):
    """Return calls that each finish one job, which the fetch found with only the standard fields, and fetch another."""
    head = [NOW, 0, 1, "next", 30_000, "", "", "", 1, "", 0, ""]
    first = [1, target, "t", -1, "", "", plain_fields, ""]
    return lambda queue: [("finish/move_to_finished", *head, *first, job_id, *row) for job_id in IDS]


@pytest.mark.parametrize("due", [False, True])
@pytest.mark.parametrize("capped", [False, True])
def test_single_jobs_complete(scenarios, three_active, client, due, capped):
    """They are not searched for in active before they enter their set."""
    prepare = three_active(due)

    def prepared(queue):
        prepare(queue)
        if capped:
            client.hset(f"bull:{queue}:meta", "concurrency", 3)

    assert scenarios.faults(Scenario(prepared, one_by_one(("1",)), placed=IDS)) == {}


def test_single_jobs_fail(scenarios, three_active):
    assert scenarios.faults(Scenario(three_active(), one_by_one(("boom", "[]", 1), "failed"), placed=IDS)) == {}


def test_a_single_job_that_is_not_active_stays_where_it_is(scenarios, three_active, client):
    """What was written about it before that was found out is taken back: by more than one command, if one is denied."""
    prepare = three_active()

    def moved(queue):
        prepare(queue)
        for job_id in IDS:
            client.lrem(f"bull:{queue}:active", 1, job_id)
            client.zadd(f"bull:{queue}:delayed", {job_id: (NOW + 1000) * 4096})

    assert scenarios.faults(Scenario(moved, one_by_one(("1",)), placed=IDS)) == {}


def test_jobs_fail(scenarios, three_active):
    assert scenarios.faults(Scenario(three_active(), FAILED, placed=IDS)) == {}


@pytest.mark.parametrize("priority", [0, 3])
def test_jobs_are_fetched(scenarios, add, priority):
    def prepare(queue):
        add(queue, "{}", "{}", "{}", priority=priority)
        add(queue, "{}", "{}", delay=1, timestamp=NOW - 100)

    def calls(queue):
        return [("fetch/move_to_active", NOW, "t", 30_000, "", "", "", 5, 5, "", 1)]

    assert scenarios.faults(Scenario(prepare, calls, placed=IDS)) == {}


def test_stalled_jobs_go_back(scenarios, three_active, client):
    prepare = three_active()

    def stalled(queue):
        prepare(queue)
        client.sadd(f"bull:{queue}:stalled", *IDS)
        client.delete(*(f"bull:{queue}:{job_id}:lock" for job_id in IDS))

    def calls(queue):
        return [("lock/move_stalled_jobs_to_wait", NOW, 1, 30_000, 1000, 0)]

    def next_interval(queue):
        client.delete(f"bull:{queue}:stalled-check")

    assert scenarios.faults(Scenario(stalled, calls, next_interval, IDS)) == {}


@pytest.mark.parametrize("priority", [0, 3])
@pytest.mark.parametrize("stamped", [0, 1])
def test_jobs_that_were_only_claimed_ahead_are_given_back(scenarios, add, fetch, priority, stamped):
    scores = {}

    def prepare(queue):
        add(queue, "{}", "{}", "{}", priority=priority)
        reply = fetch(queue, 3, slots=3 * stamped, raw=True)
        scores[queue] = reply[4] if priority else ["", "", ""]

    def calls(queue):
        jobs = zip(reversed(IDS), reversed(scores[queue]), strict=True)
        each = [(job_id, "t", score, stamped, "", "", "") for job_id, score in jobs]
        return [("finish/give_back", *(part for job in each for part in job))]

    assert scenarios.faults(Scenario(prepare, calls, placed=IDS)) == {}
