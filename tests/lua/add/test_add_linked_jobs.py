"""lua/add/add_linked_jobs.lua: jobs with a parent, children or a deduplication id."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

SCRIPT = "add/add_linked_jobs"
NOW = 1795225366409
COUNTER, CUSTOM, MADE = 0, 1, 2


@pytest.fixture
def link(run, queue):
    """`link(job(...), ...)`: adds jobs; several are several runs."""

    def add(*jobs, done_key=""):
        return run(SCRIPT, queue, done_key, *[value for job in jobs for value in job])

    return add


@pytest.fixture
def job(queue):
    """`job("id", parent="key", ...)`: the arguments of a run of one; no id = from the counter."""

    def arguments(
        id="",
        at=None,
        data="{}",
        made=True,
        delay=0,
        priority=0,
        children=False,
        parent=None,
        deduplication=("", 0, ""),
        opts="{}",
    ):
        ids = COUNTER if not id else MADE if made else CUSTOM
        parent_queue, _, parent_id = (parent or "").rpartition(":")
        link = (parent, f'{{"id":"{parent_id}","queueKey":"{parent_queue}"}}') if parent else ("", "")
        head = [1, f"bull:{at or queue}:", "n", opts, NOW, delay, priority, 0, ids, children, *link, *deduplication]
        return [*head, *([id] if id else []), data]

    return arguments


def test_no_jobs_are_refused(link):
    with pytest.raises(redis.ResponseError, match="no jobs"):
        link()


def test_a_parent_waits_for_its_child(link, job, queue, dump):
    assert link(job("p", children=True), job("c", parent=f"bull:{queue}:p")) == [["p", "c"], [], []]
    assert dump(queue) == {
        "p": {"name": "n", "data": "{}", "opts": "{}", "timestamp": str(NOW), "delay": "0", "priority": "0"},
        "p:dependencies": {f"bull:{queue}:c"},
        "waiting-children": [("p", float(NOW))],
        "c": {
            "name": "n",
            "data": "{}",
            "opts": "{}",
            "timestamp": str(NOW),
            "delay": "0",
            "priority": "0",
            "parentKey": f"bull:{queue}:p",
            "parent": f'{{"id":"p","queueKey":"bull:{queue}"}}',
        },
        "events": [
            [("event", "added"), ("jobId", "p"), ("name", "n")],
            [("event", "waiting-children"), ("jobId", "p")],
            [("event", "added"), ("jobId", "c"), ("name", "n")],
            [("event", "waiting"), ("jobId", "c")],
        ],
        "id": "2",
        "marker": [("0", 0.0)],
        "meta": {"opts.maxLenEvents": "10000"},
        "wait": ["c"],
    }


def test_only_custom_ids_become_part_of_the_options(link, job, queue, client):
    link(job("made"), job("mine", made=False), job("yours", made=False, opts='{"attempts":1}'))
    options = [client.hget(f"bull:{queue}:{id}", "opts") for id in ("made", "mine", "yours")]
    assert options == ["{}", '{"jobId":"mine"}', '{"attempts":1,"jobId":"yours"}']


def test_ids_come_from_the_counter_of_each_queue(link, job, new_queue):
    other = new_queue()
    assert link(job(), job(at=other), job(), job("x"), job()) == [["1", "1", "2", "x", "4"], [], []]


def test_a_missing_parent_is_reported_before_anything_is_written(link, job, queue, dump):
    assert link(job("a"), job("b", parent=f"bull:{queue}:gone")) == [-5, 1]
    assert dump(queue) == {}


def test_another_parent_is_reported_before_anything_is_stored(link, job, queue, dump):
    link(job("p", children=True), job("c", parent=f"bull:{queue}:p"), job("q"))
    before = dump(queue)
    assert link(job("d"), job("c", parent=f"bull:{queue}:q")) == [-7, 1]
    assert dump(queue) == {**before, "id": "4"}


def test_a_child_of_the_call_keeps_the_parent_it_has(link, job, queue, client, events):
    base = f"bull:{queue}:"
    link(job("p", children=True), job("c", parent=base + "p"))
    tree = [job("q", children=True), job("c", parent=base + "q"), job("d", parent=base + "q")]
    assert link(*tree) == [["q", "c", "d"], [1], [1]]
    assert client.smembers(base + "q:dependencies") == {base + "d"}
    assert client.hget(base + "c", "parentKey") == base + "p"
    assert events(queue)[-4:] == ["added q n", "waiting-children q", "added d n", "waiting d"]


def test_the_first_of_two_parents_in_a_call_gets_the_child(link, job, queue, client):
    base = f"bull:{queue}:"
    jobs = [job("p", children=True), job("c", parent=base + "p"), job("q", children=True), job("c", parent=base + "q")]
    assert link(*jobs) == [["p", "c", "q", "c"], [3], [3]]
    assert client.hget(base + "c", "parentKey") == base + "p"


def test_a_child_keeps_the_link_to_a_missing_parent(link, job, queue, client, events):
    link(
        job("p", children=True),
        job("c", parent=f"bull:{queue}:p"),
        job("q", children=True),
        job("d", parent=f"bull:{queue}:q"),
    )
    client.delete(f"bull:{queue}:p")
    assert link(job("c", parent=f"bull:{queue}:q")) == [["c"], [0], [0]]
    assert events(queue)[-1] == "duplicated c"
    assert client.hget(f"bull:{queue}:c", "parentKey") == f"bull:{queue}:p"
    assert client.smembers(f"bull:{queue}:q:dependencies") == {f"bull:{queue}:d"}


def test_a_new_parent_of_completed_children_is_released_when_all_are_known(
    link, job, queue, client, events, fetch, finish
):
    base = f"bull:{queue}:"
    link(job("a"), job("b"))
    fetch(queue, 2)
    finish(queue, ("a", "1"), ("b", "2"))
    link(job("p", children=True), job("a", parent=base + "p"), job("c", parent=base + "p"))
    assert client.zscore(base + "waiting-children", "p") == NOW
    assert client.hgetall(base + "p:processed") == {base + "a": "1"}
    link(job("q", children=True), job("b", parent=base + "q"))
    assert client.lrange(base + "wait", 0, -1) == ["c", "q"]
    assert events(queue)[-1] == "waiting q waiting-children"


def test_a_call_whose_done_key_exists_writes_nothing(link, job, queue, dump):
    tree = [job("p", children=True), job("c", parent=f"bull:{queue}:p")]
    link(*tree, done_key=f"bull:{queue}:p")
    before = dump(queue)
    assert link(*tree, done_key=f"bull:{queue}:p") is None
    assert dump(queue) == before


@pytest.mark.parametrize("position", range(15))
def test_malformed_runs_are_refused_before_anything_is_written(run, queue, job, dump, position):
    broken = job("b")
    if position in {2, 3, 7, 9, 10, 11, 12, 14}:
        broken = broken[: position + 1]
    else:
        broken[position] = "x"
    with pytest.raises(redis.ResponseError, match="add_linked_jobs"):
        run(SCRIPT, queue, "", *job("good"), *broken)
    assert dump(queue) == {}


def test_a_parent_cannot_be_deduplicated(link, job, queue, dump):
    with pytest.raises(redis.ResponseError, match="malformed run"):
        link(job("p", children=True, deduplication=("d", 0, "")))
    assert dump(queue) == {}


def test_a_deduplicated_job_is_not_stored_and_the_owner_is_returned(link, job, queue, client, events):
    rule = ("d", 0, "")
    assert link(job("a", deduplication=rule), job("b", deduplication=rule)) == [["a", "a"], [1], []]
    assert client.get(f"bull:{queue}:de:d") == "a"
    assert events(queue)[-2:] == ["debounced a d", "deduplicated a d b"]


def test_a_delayed_job_of_the_same_call_is_replaced(link, job, queue, client):
    rule = ("d", 0, "r")
    delayed = [job(id, delay=5000, deduplication=rule) for id in ("a", "b", "c")]
    assert link(*delayed) == [["a", "b", "c"], [], []]
    assert client.zrange(f"bull:{queue}:delayed", 0, -1) == ["c"]
    assert not client.exists(f"bull:{queue}:a", f"bull:{queue}:b")


def test_the_last_job_parked_behind_an_active_owner_is_added_when_it_ends(
    link, job, queue, client, events, fetch, finish
):
    rule = ("d", 0, "k")
    link(job("a", deduplication=rule))
    fetch(queue)
    assert link(job("b", deduplication=rule), job("c", deduplication=rule, data="3")) == [["a", "a"], [0, 1], []]
    assert client.hgetall(f"bull:{queue}:dn:d") == {"jid": "c", "name": "n", "data": "3", "opts": "{}"}
    finish(queue, ("a", "null"), now=NOW + 5)
    assert client.lrange(f"bull:{queue}:wait", 0, -1) == ["c"]
    assert client.hget(f"bull:{queue}:c", "timestamp") == str(NOW + 5)
    assert client.get(f"bull:{queue}:de:d") == "c"
    assert not client.exists(f"bull:{queue}:dn:d")
    assert events(queue)[-3:] == ["added c n", "waiting c", "completed a null active"]


def test_a_parked_job_does_not_overwrite_one_that_exists(link, job, queue, client, events, fetch, finish, add):
    rule = ("d", 0, "k")
    link(job("a", deduplication=rule))
    fetch(queue)
    link(job("b", deduplication=rule))
    add(queue, "mine", ids=["b"])
    finish(queue, ("a", "null"))
    assert client.hget(f"bull:{queue}:b", "data") == "mine"
    assert not client.exists(f"bull:{queue}:de:d", f"bull:{queue}:dn:d")


def test_only_one_of_many_callers_gets_a_deduplication_id(link, job, queue, client):
    rule = ("d", 0, "")
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda n: link(job(f"j{n}", deduplication=rule)), range(40)))
    assert len({reply[0][0] for reply in replies}) == 1
    assert sum(not reply[1] for reply in replies) == 1
    assert client.llen(f"bull:{queue}:wait") == 1


def test_a_batch_counts_the_jobs_that_were_stored(run, link, job, queue, client):
    link(job("p", children=True))
    child, twin = job("c", parent=f"bull:{queue}:p"), job("d", deduplication=("once", 0, ""))
    last = job("e", deduplication=("once", 0, ""))
    args = ["batch", "b", "", *child, *twin, *last]
    assert run(SCRIPT, queue, *args) == [["c", "d", "d"], [2], []]
    key = f"bull:{queue}:ext:enq-b"
    assert (client.get(key), round(client.ttl(key) / 86_400)) == ("2", 7)
    run(SCRIPT, queue, *args)
    assert client.get(key) == "2"
    client.set(key, "x")
    with pytest.raises(redis.ResponseError, match="another program uses this key"):
        run(SCRIPT, queue, "batch", "b", "", *job("f"))
    assert client.exists(f"bull:{queue}:f") == 0
