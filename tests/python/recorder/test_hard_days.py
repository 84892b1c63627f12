"""What happens to servers and streams: a gap is a gap, and nothing is invented, doubled or lost for good."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from bullrush.recorder import History, Recorder, Remembered
from bullrush.rights import acl_rule, read_roles
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


def work(queue: Queue, url: str, count: int = 3) -> list[str]:
    """Run some jobs and return their ids."""
    ids = [job.id for job in queue.add_bulk([{"name": "n"}] * count)]
    with Worker(queue.name, lambda job: None, url=url) as worker:
        worker.run(until="drained")
    return ids


def known_of(history: History, queue: Queue) -> Remembered:
    found = history.remembered(queue.name)
    assert found is not None
    return found


def wait_for(history: History, queue: Queue, ids: list[str]) -> None:
    """Wait until the ends of these jobs are known, and check that each ran once."""
    wait_until(lambda: all(history.find(queue.name, job_id=id, outcome="completed") for id in ids))
    told = {id: history.attempts(queue.name, id) for id in ids}
    assert {id: [one.number for one in attempts] for id, attempts in told.items()} == {id: [1] for id in ids}


@contextmanager
def recorded(file: Path, server: EmbeddedRedis, name: str) -> Iterator[tuple[Queue, History]]:
    """Record a queue of a server."""
    with Recorder(file, server.url, queues=[name]) as recorder, History(file) as history:
        running = threading.Thread(target=recorder.run)
        running.start()
        with Queue(name, url=server.url) as queue:
            yield queue, history
        recorder.stop()
        running.join()


@pytest.fixture
def persistent(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A server that keeps what it is told to save."""
    with EmbeddedRedis(tmp_path / "data", port=0, password="", persistence=False) as server:
        yield server


@pytest.mark.parametrize("lost", ["obliterated", "flushed", "deleted", "cut"])
def test_a_stream_that_is_lost_goes_on_with_a_gap(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording, lost: str
) -> None:
    """What was heard before stays, and what comes then is heard once."""
    with recording() as history:
        before = work(queue, redis_url)
        wait_for(history, queue, before)
        if lost == "obliterated":
            queue.obliterate(force=True)
        elif lost == "flushed":
            redis.flushall()
        elif lost == "deleted":
            redis.delete(queue.to_key("events"))
        else:
            redis.xtrim(queue.to_key("events"), maxlen=0, approximate=False)
        # Ids of their own: where the counter has gone, too, the next job has the id of the first one.
        after = [queue.add("another", job_id=f"again-{n}").id for n in range(3)]
        wait_until(lambda: all(history.attempts(queue.name, id) for id in after))
        known = known_of(history, queue)
        [gap] = known.gaps
        last = max(one.ended or 0 for id in before for one in history.attempts(queue.name, id))
        first = min(one.queued or 0 for id in after for one in history.attempts(queue.name, id))
        assert gap[0] >= last and gap[1] <= first
        wait_for(history, queue, before)


def test_a_server_that_kept_its_data_over_a_restart_leaves_no_gap(
    persistent: EmbeddedRedis, file: Path, queue_name: str
) -> None:
    with recorded(file, persistent, queue_name) as (queue, history):
        before = work(queue, persistent.url)
        wait_for(history, queue, before)
        with Redis.from_url(persistent.url) as redis:
            redis.save()
        persistent.restart()
        after = work(queue, persistent.url)
        wait_for(history, queue, before + after)
        assert known_of(history, queue).gaps == []


def test_a_server_that_comes_back_with_older_data_leaves_a_gap_and_doubles_nothing(
    persistent: EmbeddedRedis, file: Path, queue_name: str
) -> None:
    """Jobs that the server has forgotten stay in the history: they did run."""
    with recorded(file, persistent, queue_name) as (queue, history):
        before = work(queue, persistent.url)
        with Redis.from_url(persistent.url) as redis:
            redis.save()
        forgotten = [queue.add("n", job_id=f"forgotten-{n}").id for n in range(3)]
        with Worker(queue_name, lambda job: None, url=persistent.url) as worker:
            worker.run(until="drained")
        wait_for(history, queue, before + forgotten)
        persistent.restart()
        # A new connection compares where it was with where the stream ends.
        wait_until(lambda: known_of(history, queue).gaps)
        after = [queue.add("n", job_id=f"after-{n}").id for n in range(3)]
        with Worker(queue_name, lambda job: None, url=persistent.url) as worker:
            worker.run(until="drained")
        wait_for(history, queue, before + forgotten + after)
        assert len(known_of(history, queue).gaps) == 1


def test_a_server_that_lost_everything_leaves_one_gap(file: Path, queue_name: str) -> None:
    with (
        EmbeddedRedis(port=0, password="") as server,
        recorded(file, server, queue_name) as (queue, history),
    ):
        before = work(queue, server.url)
        wait_for(history, queue, before)
        server.restart()
        after = [queue.add("n", job_id=f"after-{n}").id for n in range(3)]
        with Worker(queue_name, lambda job: None, url=server.url) as worker:
            worker.run(until="drained")
        wait_for(history, queue, before + after)
        [gap] = known_of(history, queue).gaps
        assert gap[1] <= min(one.queued or 0 for id in after for one in history.attempts(queue_name, id))


def test_a_connection_that_is_cut_leaves_no_gap(file: Path, queue_name: str) -> None:
    with (
        EmbeddedRedis(port=0, password="") as server,
        recorded(file, server, queue_name) as (queue, history),
        Redis.from_url(server.url) as redis,
    ):
        before = work(queue, server.url)
        wait_for(history, queue, before)
        for one in redis.client_list():
            if one["name"] == "bullrush:recorder":
                redis.client_kill(one["addr"])
        after = work(queue, server.url)
        wait_for(history, queue, before + after)
        assert known_of(history, queue).gaps == []


def test_a_stream_of_a_wrong_type_is_said_once_and_others_are_recorded(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    """It is recorded, too, as soon as it is a stream."""
    name = f"{queue.name}~wrong"
    redis.set(f"bull:{name}:events", "no stream")
    with caplog.at_level(logging.WARNING, "bullrush"), recording(queues=[name, queue.name]) as history:
        job = queue.add("n")
        wait_until(lambda: history.attempts(queue.name, job.id))
        wait_until(lambda: "WRONGTYPE" in caplog.text)
        redis.delete(f"bull:{name}:events")
        with Queue(name, url=redis_url) as wrong:
            ids = work(wrong, redis_url)
            wait_for(history, wrong, ids)
            assert known_of(history, wrong).gaps == []
    assert caplog.text.count("WRONGTYPE") == 1


def test_a_queue_without_rights_is_said_once_and_recorded_from_when_they_are_given(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream has kept everything meanwhile."""
    denied = f"{queue.name}~denied"
    about, user = read_roles()["reader"], queue.name
    rule = acl_rule([*about.needed, *about.useful], user=user, password="x").split()
    redis.execute_command(*rule, "resetkeys", f"~bull:{queue.name}:*")
    url = redis_url.replace("//", f"//{user}:x@")
    try:
        with (
            caplog.at_level(logging.WARNING, "bullrush"),
            recording(url=url, queues=[queue.name, denied]) as history,
            Queue(denied, url=redis_url) as other,
        ):
            hidden, seen = work(other, redis_url), work(queue, redis_url)
            wait_for(history, queue, seen)
            wait_until(lambda: "NOPERM" in caplog.text)
            assert history.find(denied) == []
            redis.acl_setuser(user, enabled=True, keys=[f"bull:{denied}:*"])
            wait_for(history, other, hidden)
            assert known_of(history, other).gaps == known_of(history, queue).gaps == []
    finally:
        redis.acl_deluser(user)
    assert caplog.text.count("NOPERM") == 1 and denied in caplog.text


def test_a_recorder_whose_user_is_unknown_says_so_and_waits(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    url, user = redis_url.replace("//", f"//{queue.name}:x@"), queue.name
    with caplog.at_level(logging.WARNING, "bullrush"), recording(url=url) as history:
        wait_until(lambda: "recorder: cannot read Redis" in caplog.text)
        ids = work(queue, redis_url)
        about = read_roles()["reader"]
        redis.execute_command(*acl_rule([*about.needed, *about.useful], user=user, password="x").split())
        try:
            wait_for(history, queue, ids)
            assert known_of(history, queue).gaps == []
        finally:
            redis.acl_deluser(user)
