"""The option `run`: Redis lists which jobs the workers of a run finished, and lock tokens name the run."""

from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Job, Queue, UnrecoverableError, Worker, errors

Make = Callable[..., Worker]


@pytest.fixture
def listed(redis: Redis, queue: Queue) -> Callable[[str], list[str]]:
    return lambda run: redis.lrange(f"bull:{queue.name}:ext:run-{run}", 0, -1)


@pytest.mark.parametrize("prefetch", [None, 0])
def test_a_run_lists_each_job_that_finished_once(queue: Queue, worker: Make, listed: Callable, prefetch: int) -> None:
    ids = [job.id for job in queue.add_bulk([{"name": "n", "opts": {"attempts": 2}}] * 300)]

    def handler(job: Job) -> None:
        if int(job.id) % 10 == 0 and job.attempts_made == 0:
            raise ValueError("the first attempt fails")
        if int(job.id) % 7 == 0:
            raise UnrecoverableError("for good")

    stats = worker(handler, run="nightly-1", prefetch=prefetch, concurrency=8).run(until="drained")
    assert stats.retried == 30
    assert sorted(listed("nightly-1"), key=int) == ids


def test_jobs_that_are_removed_at_once_are_listed(queue: Queue, worker: Make, listed: Callable) -> None:
    queue.add_bulk([{"name": "n", "opts": {"remove_on_complete": True}}] * 20)
    worker(lambda job: None, run="r").run(until="drained")
    assert len(set(listed("r"))) == len(listed("r")) == 20
    assert queue.get_completed_count() == 0


def test_lock_tokens_begin_with_the_run(queue: Queue, worker: Make) -> None:
    queue.add("n")
    tokens = []
    worker(lambda job: tokens.append(job.token), run="r_1").run(until="drained")
    assert [token.partition(".")[0] for token in tokens] == ["r_1"]


def test_jobs_finished_by_hand_are_listed(queue: Queue, worker: Make, listed: Callable) -> None:
    queue.add_bulk([{"name": "n"}] * 2)
    by_hand = worker(run="r")
    job = by_hand.get_next_job("t").move_to_completed(1)
    job.move_to_failed(UnrecoverableError("for good"))
    assert listed("r") == ["1", "2"]


@pytest.mark.parametrize("run", ["", "a.b", "a:b", "ü", "x" * 65, 7, "a\n"])
def test_a_run_id_has_only_letters_digits_dashes_and_underscores(queue: Queue, worker: Make, run: object) -> None:
    with pytest.raises(errors.InvalidOptionError, match="run must be 1 to 64 letters"):
        worker(lambda job: None, run=run)
