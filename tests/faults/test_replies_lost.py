"""A script is executed and its reply is lost: the worker asks Redis what happened and does nothing twice."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bullrush import FlowProducer, Job, LegacyQueue, Queue, Worker, errors
from tests.driver.ledger import completions
from tests.waiting import wait_until

from .handlers import Handlers
from .proxy import HeldRequest

#: How much of the reply is delivered: nothing, or a part that a careless parser would accept.
SHARES = pytest.mark.parametrize("share", [0.0, 0.6], ids=["none_of_it", "a_part_of_it"])


class Reporting(Worker):
    """A worker that records which jobs it reported as completed."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.reported: list[str] = []
        self.on("completed", lambda job, _: self.reported.append(job.id))


@pytest.fixture
def work(proxy, ledger, queue) -> Iterator[Callable[..., Reporting]]:
    """Return a function that starts a worker behind the proxy and waits until it is idle and its scripts are loaded."""
    running: list[tuple[Reporting, threading.Thread]] = []

    def start(**options) -> Reporting:
        # No lock expires and no stalled check runs in this time: only a question to Redis finds what was lost.
        worker = Reporting(
            queue.name, Handlers(ledger), url=proxy.url, lock_duration=60_000, skip_stalled_check=True, **options
        )
        thread = threading.Thread(target=worker.run)
        running.append((worker, thread))
        thread.start()
        for name in ("quick", "failing"):
            done = queue.add(name, attempts=2 if name == "failing" else 1)
            wait_until(lambda done=done: done.get_state() in ("completed", "failed"), "the worker has warmed up")
        return worker

    yield start
    for worker, thread in running:
        worker.close()
        thread.join()


def settled(queue: Queue, count: int) -> Callable[[], bool]:
    return lambda: queue.get_completed_count() == 1 + count and queue.get_active_count() == 0


@SHARES
def test_jobs_of_a_lost_fetch_are_found_by_its_token(queue, own_redis, proxy, work, ledger, share):
    work(concurrency=5)
    trap = proxy.lose_reply("move_to_active", share, when=lambda _: own_redis.llen("bull:work:wait") > 0)
    queue.pause()
    jobs = queue.add_bulk([{"name": "quick"}] * 5)
    queue.resume()
    wait_until(settled(queue, 5), "all jobs are done")
    assert trap.sprung.is_set()
    assert sorted(ledger.begun[-5:]) == [job.id for job in jobs]
    assert [queue.get_job(job.id).attempts_started for job in jobs] == [1] * 5


def test_jobs_of_a_fetch_that_redis_gets_late_are_run_long_before_their_locks_expire(
    queue, own_redis, proxy, work, ledger
):
    """The worker has given the connection up, asked for the jobs in vain, and gone on."""
    work(concurrency=2, prefetch=0)
    held = proxy.hold_request("move_to_active")
    first = queue.add("quick")
    assert held.held.wait(10)
    wait_until(lambda: first.get_state() == "completed", "the worker goes on with another connection")
    own_redis.client_pause(200)
    late = queue.add_bulk([{"name": "quick"}] * 2)
    held.deliver()
    wait_until(settled(queue, 3), "the late jobs are done", seconds=20)
    assert {queue.get_job(job.id).attempts_started for job in late} == {1}
    assert own_redis.xlen("bull:work:events") and queue.get_active_count() == 0


def test_a_job_whose_data_breaks_the_connection_does_not_keep_the_jobs_of_its_fetch(queue, proxy, work, ledger):
    """They are asked for one by one; that job is left to the check for stalled jobs."""
    worker = work(concurrency=10, prefetch=0)
    reported = []
    worker.on("error", lambda error: reported.append(str(error)))
    proxy.reset_by(b"forbidden")
    queue.pause()
    first, broken, last = queue.add_bulk([{"name": "quick"}, {"name": "quick", "data": "forbidden"}, {"name": "quick"}])
    queue.resume()
    wait_until(lambda: {first.get_state(), last.get_state()} == {"completed"}, "the others are done")
    wait_until(lambda: any(f"job {broken.id} " in error for error in reported), "the cause is named")
    assert broken.get_state() == "active"
    assert [queue.get_job(job.id).attempts_started for job in (first, last)] == [1, 1]


@pytest.fixture
def by_hand(queue, proxy) -> Iterator[Worker]:
    """Return a worker behind the proxy that has loaded its scripts."""
    with Worker(queue.name, url=proxy.url, skip_stalled_check=True, drain_delay=200) as worker:
        assert worker.get_next_job("warm", block=False) is None
        yield worker


@pytest.fixture
def cut_fetch(proxy, by_hand) -> Callable[..., tuple[HeldRequest, Job | None]]:
    """Return a function that cuts the connection before Redis gets a fetch; it returns that fetch, and what came."""

    def fetch(**how) -> tuple[HeldRequest, Job | None]:
        held = proxy.hold_request("move_to_active")
        with ThreadPoolExecutor(1) as calling:
            taken = calling.submit(by_hand.get_next_job, "t", **how)
            assert held.held.wait(10)
            proxy.cut()
            return held, taken.result(20)

    return fetch


@pytest.mark.parametrize("block", [False, True])
def test_get_next_job_returns_a_job_although_its_first_fetch_did_not_arrive(queue, cut_fetch, block):
    job = queue.add("quick")
    assert cut_fetch(block=block)[1].id == job.id


@pytest.mark.parametrize("closes", [False, True])
def test_the_job_of_a_fetch_by_hand_that_redis_gets_late_goes_back_to_the_queue(queue, by_hand, cut_fetch, closes):
    """Nobody runs it: the call that wanted it has returned. Tokens may be used more than once."""
    first, second = queue.add("quick"), queue.add("quick")
    held, job = cut_fetch(block=False)
    assert job.id == first.id
    held.deliver()
    if closes:
        by_hand.close()
        assert second.get_state() == "waiting"
    wait_until(lambda: second.get_state() == "waiting", "it is back")
    assert queue.get_job(second.id).attempts_started == 1, "the fetch has arrived"
    assert first.get_state() == "active", "this one has its caller"


def test_a_lost_fetch_by_hand_does_not_return_what_another_worker_has_under_the_same_token(queue, server, cut_fetch):
    job = queue.add("quick")
    with Worker(queue.name, url=server.url) as other:
        theirs = other.get_next_job("t")
        assert theirs.id == job.id
        wait_until(
            lambda: time.time_ns() // 1_000_000 > theirs.processed_on, "the next ms: a start is known by its time"
        )
        assert cut_fetch(block=False)[1] is None


@SHARES
def test_an_outcome_whose_reply_got_lost_counts_once(queue, own_redis, proxy, work, ledger, share):
    worker = work(metrics={"max_data_points": 10})
    trap = proxy.lose_reply("move_to_finished", share)
    job = queue.add("quick")
    wait_until(settled(queue, 1), "it is done")
    wait_until(lambda: worker.reported[1:] == [job.id], "the worker reports it")
    assert trap.sprung.is_set()
    assert ledger.begun.count(job.id) == 1
    assert completions(own_redis, queue.name)[job.id] == 1
    assert own_redis.hget("bull:work:metrics:completed", "count") == "2"
    after = queue.add("quick")
    wait_until(lambda: after.get_state() == "completed", "the worker continues")


@SHARES
def test_an_outcome_whose_reply_got_lost_is_one_result(queue, own_redis, proxy, work, share):
    work(results_queue="results")
    before = own_redis.llen("bull:results:wait")
    trap = proxy.lose_reply("move_to_finished", share)
    queue.add("quick")
    wait_until(settled(queue, 1), "the job is done")
    assert trap.sprung.is_set()
    assert own_redis.llen("bull:results:wait") == before + 1


@SHARES
def test_jobs_fetched_by_a_finish_with_a_lost_reply_are_run(queue, own_redis, proxy, work, ledger, tmp_path, share):
    work(concurrency=1, prefetch=0)
    gate = tmp_path / "gate"
    first = queue.add("gated", {"gate": str(gate)})
    wait_until(lambda: ledger.begun[-1] == first.id, "the first one runs")
    rest = queue.add_bulk([{"name": "quick"}] * 3)
    trap = proxy.lose_reply("move_to_finished", share)
    gate.touch()
    wait_until(settled(queue, 4), "all jobs are done")
    assert trap.sprung.is_set()
    assert [job_id for job_id in ledger.begun if job_id in {job.id for job in rest}] == [job.id for job in rest]


@SHARES
def test_a_job_that_removes_itself_on_completion_counts_as_completed(queue, proxy, work, share):
    worker = work()
    trap = proxy.lose_reply("move_to_finished", share)
    job = queue.add("quick", remove_on_complete=True)
    wait_until(lambda: worker.reported[1:] == [job.id], "the worker reports it")
    assert trap.sprung.is_set()
    assert queue.get_job(job.id) is None


@SHARES
@pytest.mark.parametrize("backoff", [0, 50], ids=["at_once", "after_a_delay"])
def test_a_retry_whose_reply_got_lost_is_one_retry(queue, proxy, work, ledger, share, backoff):
    work()
    warm = queue.add("failing", attempts=2, backoff=1)
    wait_until(lambda: warm.get_state() == "failed", "all scripts are known")
    trap = proxy.lose_reply("move_to_delayed" if backoff else "retry_job", share)
    job = queue.add("failing", attempts=3, backoff=backoff)
    wait_until(lambda: job.get_state() == "failed", "it has failed for good")
    assert trap.sprung.is_set()
    stored = queue.get_job(job.id)
    assert (stored.attempts_made, stored.attempts_started, ledger.begun.count(job.id)) == (3, 3, 3)
    assert len(stored.stacktrace) == 3


@pytest.mark.parametrize("backoff", [0, 60_000], ids=["at_once", "after_a_delay"])
@pytest.mark.parametrize("lost", [False, True], ids=["held", "lost"])
@pytest.mark.parametrize("by", ["hand", "process_job", "engine"])
def test_a_refused_retry_whose_reply_got_lost_is_no_retry(queue, own_redis, proxy, ledger, by, lost, backoff):
    """Another worker has taken the lock: the attempt is `lost`. If the lock was held, it is retried."""
    script = "move_to_delayed" if backoff else "retry_job"
    retried: list[str] = []
    gate = threading.Event()

    def handler(job):
        if lost:
            own_redis.set(queue.to_key(f"{job.id}:lock"), "another worker")
        proxy.lose_reply(script)
        gate.set()
        raise ValueError("boom")

    options = {"skip_stalled_check": True, "skip_lock_renewal": True}
    with Worker(queue.name, handler, url=proxy.url, **options) as worker:
        worker.on("retrying", lambda job, *_: retried.append(job.id))
        queue.add("warm", attempts=2, backoff=backoff)
        with contextlib.suppress(errors.ResultCodeError):
            worker.get_next_job("warm", block=False).move_to_failed(ValueError("the scripts are known"))
        queue.drain(delayed=True)
        job = queue.add("n", attempts=5, backoff=backoff)
        if by == "engine":
            stats = worker.run(max_jobs=1)
            assert (stats.retried, retried) == ((0, []) if lost else (1, [job.id]))
        else:
            taken = worker.get_next_job("token", block=False)
            assert taken.id == job.id
            if by == "process_job":
                assert worker.process_job(taken).outcome == ("lost" if lost else "retried")
            else:
                with contextlib.suppress(ValueError):
                    handler(taken)
                with pytest.raises(errors.JobLockMismatchError) if lost else contextlib.nullcontext():
                    assert taken.move_to_failed(ValueError("boom")).outcome == "retried"
    assert gate.is_set()
    assert job.get_state() == ("active" if lost else "delayed" if backoff else "waiting")


def test_an_add_without_ids_whose_reply_got_lost_raises_outcome_unknown(queue, own_redis, proxy):
    through_proxy = Queue(queue.name, url=proxy.url)
    through_proxy.add("quick")
    proxy.lose_reply("add_jobs")
    with pytest.raises(errors.OutcomeUnknownError, match="may or may not"):
        through_proxy.add("quick")
    assert queue.get_waiting_count() == 2, "it was added nevertheless"


def test_an_add_to_a_queue_of_bull_whose_reply_got_lost_raises_outcome_unknown_or_adds_the_id_once(
    queue, own_redis, proxy
):
    through_proxy = LegacyQueue("bull", url=proxy.url, flavor="4")
    through_proxy.add("quick")
    proxy.lose_reply("add_3")
    with pytest.raises(errors.OutcomeUnknownError, match="may or may not"):
        through_proxy.add("quick")
    assert own_redis.lrange("bull:bull:wait", 0, -1) == ["2", "1"], "it was added nevertheless"
    trap = proxy.lose_reply("add_3")
    assert through_proxy.add("quick", {"n": 1}, job_id="mine").data == {"n": 1}
    assert trap.sprung.is_set()
    assert own_redis.lrange("bull:bull:wait", 0, -1) == ["mine", "2", "1"], "it was added once"


def test_an_add_with_ids_whose_reply_got_lost_adds_each_job_once(queue, proxy):
    through_proxy = Queue(queue.name, url=proxy.url)
    through_proxy.add("quick")
    trap = proxy.lose_reply("add_jobs")
    through_proxy.add_bulk([{"name": "quick", "opts": {"job_id": f"mine-{n}"}} for n in range(10)])
    assert trap.sprung.is_set()
    assert queue.get_waiting_count() == 11


def test_a_flow_is_added_once(queue, own_redis, proxy):
    flow = {"name": "root", "queue_name": queue.name, "children": [{"name": "child", "queue_name": queue.name}] * 3}
    with FlowProducer(url=proxy.url) as flows:
        flows.add(flow)
        before = own_redis.xlen(f"bull:{queue.name}:events")
        trap = proxy.lose_reply("add_linked_jobs")
        root = flows.add(flow).job
    assert trap.sprung.is_set()
    assert queue.get_waiting_children_count() == 2
    assert queue.get_waiting_count() == 6
    assert own_redis.xlen(f"bull:{queue.name}:events") == 2 * before
    assert root.id in {job.id for job in queue.get_waiting_children()}


def test_a_child_added_without_an_id_whose_reply_got_lost_raises_outcome_unknown(queue, proxy):
    parent = {"id": queue.add("parent").id, "queue": queue.qualified_name}
    through_proxy = Queue(queue.name, url=proxy.url)
    through_proxy.add("child", parent=parent)
    proxy.lose_reply("add_linked_jobs")
    with pytest.raises(errors.OutcomeUnknownError, match="either all or none of the next 1"):
        through_proxy.add("child", parent=parent)
    assert queue.get_waiting_count() == 3, "it was added nevertheless"


@SHARES
@pytest.mark.parametrize(
    ("name", "attempts", "script", "outcome", "state"),
    [
        ("quick", 1, "move_to_finished", "completed", "completed"),
        ("failing", 1, "move_to_finished", "failed", "failed"),
        ("failing", 2, "retry_job", "retried", "waiting"),
    ],
)
def test_process_job_says_what_became_of_the_job_and_takes_the_next_one_once(
    queue, proxy, ledger, share, name, attempts, script, outcome, state
):
    with Worker(queue.name, Handlers(ledger), url=proxy.url) as worker:
        for warm in range(2):  # all scripts are loaded
            queue.add(name, attempts=attempts)
            worker.process_job(worker.get_next_job(f"warm-{warm}"))
            queue.drain()
        job, after = queue.add(name, attempts=attempts), queue.add("quick")
        held = worker.get_next_job("mine")
        trap = proxy.lose_reply(script, share)
        result = worker.process_job(held, fetch_next=True)
        assert trap.sprung.is_set()
        assert (result.outcome, queue.get_job(job.id).get_state()) == (outcome, state)
        if outcome != "retried":
            assert result.next_job.id == after.id
            assert worker.process_job(result.next_job).outcome == "completed"
            assert queue.get_job(after.id).attempts_started == 1
