"""What `bullrush info` and the doctor say about queues of real Bull, before and after a move, and of both."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from bullrush import LegacyQueue, Queue, cli
from bullrush.doctor import Doctor
from bullrush.errors import LegacyQueueError, QueueNameError
from tests.interop.sides.their_queue import TheirQueue

from .bull_queue import LATER, add, every_bull, newest_bull


@pytest.fixture
def queue_name() -> str:
    """A name that is short enough for the table."""
    return f"q-{uuid4().hex[:8]}"


@pytest.fixture
def info(capsys: pytest.CaptureFixture[str], redis_url: str) -> Callable[..., Any]:
    """Return a function that gives what `info` says about a queue, of all or of this one only."""

    def listed(name: str, *words: str) -> dict[str, Any] | None:
        capsys.readouterr()
        assert cli.main(["info", *words, "--url", redis_url, "--json"]) == 0
        return next((one for one in json.loads(capsys.readouterr().out) if one["queue"] == name), None)

    return listed


@pytest.fixture
def title(capsys: pytest.CaptureFixture[str], redis_url: str) -> Callable[[str], str]:
    """Return a function that gives the line of a queue in the table, in single blanks, and the hints below it."""

    def line(name: str) -> str:
        capsys.readouterr()
        assert cli.main(["info", "--url", redis_url]) == 0
        shown = capsys.readouterr()
        lines = [line for line in shown.out.splitlines() if line.startswith(name)]
        return " ".join([*lines[0].removeprefix(name).split(), shown.err]) if lines else ""

    return line


@pytest.fixture
def faults(redis_url: str, queue_name: str) -> Callable[..., list[Any]]:
    """Return a function that gives the findings of the doctor about the test's queue."""
    return lambda **options: [one for one in Doctor(redis_url).examine(**options).findings if one.queue == queue_name]


@every_bull
def test_a_paused_queue_of_bull_is_listed_and_no_fault(bull, old, new, info, title, faults):
    bull.call("paused", queue=old.name)  # Bull 4.16 writes the key meta, too
    assert (listed := info(old.name)) is not None and listed == info(old.name, old.name)
    assert (listed["legacy"], listed["paused"], listed["counts"]["waiting"]) == ("bull", True, 1)
    assert title(old.name).startswith("(Bull, paused) 1 0") and faults(deep=True) == []
    report = Doctor(old._url).examine([old.name])
    assert report.findings == [] or all(one.queue is None for one in report.findings)
    assert any(text.startswith(f"the queue {old.name}: it is Bull's (") for text in report.skipped)
    assert old.migrate(new).complete
    assert info(old.name) is None and faults() == []
    assert info(old.name, old.name)["moved_to"] == f"bull:{new.name}"


@every_bull
def test_a_queue_that_has_moved_and_is_not_cleaned_up_is_no_fault(bull, old, new, info, faults):
    bull.call("finished", queue=old.name)
    assert old.migrate(new).complete
    assert info(old.name) is None and faults(deep=True) == []
    bull.call("close", queue=old.name)  # its worker would run the job
    add(bull, old)
    assert [one.code for one in faults()] == ["BR117"] and info(old.name)["legacy"] == "moved"


@every_bull
def test_a_job_of_a_dead_worker_that_stayed_behind_is_a_fault(bull, old, redis, title, faults):
    id = add(bull, old)
    redis.rpoplpush(old.to_key("wait"), old.to_key("active"))
    redis.set(old.to_key(f"{id}:lock"), "token")
    with Queue(old.name, url=old._url, prefix="moved") as to:
        old.migrate(to)
    assert title(old.name).startswith("(moved, 1 job is active) 0 1")
    assert faults() == [], "its worker lives"
    redis.delete(old.to_key(f"{id}:lock"))
    [finding] = faults()
    assert finding.code == "BR117" and finding.detail.endswith(
        f"to moved:{old.name}, 1 of them active without a worker"
    )
    command = f"bullrush migrate {old.name} --to-prefix moved --from {old._url}"
    assert f"Run `{command}` again" in finding.advice and "`--legacy-workers-stopped`" in finding.advice


@newest_bull
@pytest.mark.parametrize("cleaned_up", [False, True])
def test_a_queue_that_bullmq_uses_after_its_move_is_listed_and_has_the_advice_of_the_migrator(
    cleaned_up, bull, old, new, info, title, faults, theirs: TheirQueue, redis
):
    bull.call("finished", queue=old.name)
    bull.call("close", queue=old.name)
    old.migrate(new)
    if cleaned_up:
        old.cleanup(new)
    theirs.add("late", {"n": 2})  # BullMQ for Node takes no notice of the signpost
    add(bull, old, {"n": 1})
    with pytest.raises(LegacyQueueError, match="BullMQ has used its old keys since") as refused:
        old.migrate(new)
    listed = info(old.name)
    assert (listed["legacy"], listed["moved_to"], listed["counts"]["waiting"]) == ("both", f"bull:{new.name}", 2)
    assert title(old.name).startswith("(moved, 2 jobs wait, BullMQ uses it) 2 0")
    [finding] = faults()
    assert (finding.code, finding.detail.partition(" in ")[0]) == ("BR117", "2 jobs")
    advice = str(refused.value).partition("since. ")[2]
    command = f"bullrush migrate {old.name} --to-prefix bull --to-name {new.name} --from {old._url}"
    assert advice and finding.advice == f"{advice}, then run `{command}` again"

    # The advice is right: without jobs and keys of BullMQ's the rest moves.
    with Queue(old.name, url=old._url, allow_legacy=True) as queue:
        [late] = [job.id for job in queue.get_waiting() if job.name == "late"]
        queue.remove(late)
    redis.delete(*(old.to_key(part) for part in ("events", "marker", "pc", "prioritized", "meta")))
    assert old.migrate(new).moved == {"waiting": 1}


@newest_bull
def test_a_queue_of_both_is_listed_as_such(bull, old, info, title, faults, theirs: TheirQueue):
    theirs.add("send", {"n": 1})
    bull.call("paused", queue=old.name)
    assert info(old.name)["legacy"] == info(old.name, old.name)["legacy"] == "both"
    assert title(old.name).startswith("(Bull and BullMQ, paused) 2 0")
    assert [one.code for one in faults()] == ["BR101"]


@newest_bull
def test_a_queue_whose_name_has_a_colon_is_listed_with_the_prefix_by_which_it_moves(
    bull, queue_name, redis_url, new, info, title, capsys
):
    theirs = f"{queue_name}:eu:west"
    bull.call("add", queue=theirs, data={"n": 1}, opts={"jobId": "7:id"})
    bull.call("add", queue=theirs, data={}, opts={"debounce": {"id": "a:id", "ttl": LATER}})
    command = ["--prefix", f"bull:{queue_name}:eu", "--to-prefix", "PREFIX", "--to-name", f"{queue_name}-eu-west"]
    listed = info("west")
    assert (listed["prefix"], listed["counts"]["waiting"]) == (f"bull:{queue_name}:eu", 2)
    shown = title(theirs)
    assert shown.startswith("(Bull) 2 0") and f"'bullrush migrate west {' '.join(command)}' moves it" in shown
    with pytest.raises(
        QueueNameError, match=f"bullrush migrate west --prefix bull:{queue_name}:eu --to-prefix"
    ) as wrong:
        LegacyQueue(theirs, url=redis_url)
    assert f'by prefix "bull:{queue_name}:eu" and name "west"' in str(wrong.value)
    assert cli.main(["migrate", theirs, "--to-prefix", "bullmq", "--url", redis_url]) == 2
    assert str(wrong.value) in capsys.readouterr().err
    assert cli.main(["info", theirs, "--url", redis_url]) == 2
    assert str(wrong.value) in capsys.readouterr().err
    with LegacyQueue("west", url=redis_url, prefix=f"bull:{queue_name}:eu") as old:
        assert old.migrate(new).moved == {"waiting": 2}
    assert info("west") is None
    bull.call("close", queue=theirs)


def test_jobs_that_an_interrupted_move_has_claimed_are_shown(queue_name, redis_url, redis, info, title, faults):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old:
        old.add("welcome")
        redis.hset(old.to_key("ext:claim"), mapping={"7": "token wait ", "8": "token wait "})
        assert info(queue_name)["claimed"] == 2
        assert title(queue_name).startswith("(Bull, 2 claimed by a move) 1 0")
        redis.hset(old.to_key("ext:moved"), mapping={"prefix": "bullmq", "name": queue_name, "place": ""})
        redis.delete(old.to_key("wait"))
        assert title(queue_name).startswith(f"(moved to bullmq:{queue_name}, 2 claimed by a move) 0 0")
        [finding] = faults()
        assert finding.code == "BR117" and finding.detail.endswith("and 2 jobs claimed by a move that did not end")
