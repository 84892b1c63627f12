"""The option ``results_queue``: outcomes of jobs become jobs of another queue."""

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors


@pytest.fixture
def results(redis_url: str, queue_name: str) -> Iterator[Queue]:
    with Queue(f"{queue_name}-results", url=redis_url) as queue:
        yield queue


@pytest.fixture
def new_worker(redis_url: str, queue_name: str, results: Queue) -> Callable[..., Worker]:
    return lambda handler=None, **options: Worker(
        queue_name, handler, **{"url": redis_url, "results_queue": results.name, **options}
    )


def _send(job):
    if job.data["to"] == "nobody":
        raise ValueError("an unknown address")
    return {"sent": job.data["to"]}


def _found(results: Queue) -> list[dict]:
    return [job.data for job in results.get_waiting()]


def test_another_worker_gets_each_outcome_as_a_job(
    queue: Queue, results: Queue, new_worker: Callable[..., Worker], redis_url: str
) -> None:
    sent, lost = queue.add("send", {"to": "ann"}), queue.add("send", {"to": "nobody"}, attempts=2)
    stats = new_worker(_send, concurrency=4).run(until="drained")
    assert (stats.completed, stats.failed, stats.retried) == (1, 1, 1)
    handed: dict[str, dict] = {}
    Worker(results.name, lambda job: handed.update({job.data["id"]: job.data}), url=redis_url).run(until="drained")
    assert handed.keys() == {sent.id, lost.id}, "one each, although one was tried twice"
    good, bad = handed[sent.id], handed[lost.id]
    assert (good["queue"], good["name"], good["state"], good["returnvalue"]) == (
        queue.name, "send", "completed", {"sent": "ann"},
    )  # fmt: skip
    assert (bad["state"], bad["failedReason"], bad["attemptsMade"]) == ("failed", "an unknown address", 2)
    assert queue.get_job(sent.id).finished_on == good["finishedOn"]


def test_outcomes_have_the_options_that_the_worker_gives_them(
    queue: Queue, results: Queue, new_worker: Callable[..., Worker], redis_url: str
) -> None:
    queue.add("send", {"to": "ann"})
    options = {"attempts": 3, "backoff": {"type": "fixed", "delay": 1}, "remove_on_complete": True}
    new_worker(_send, results_options=options).run(until="drained")
    [outcome] = results.get_waiting()
    assert outcome.opts == options
    tries: list[int] = []

    def store(job):
        tries.append(job.attempts_started)
        if len(tries) < 3:
            raise ConnectionError("the database is away")

    Worker(results.name, store, url=redis_url).run(until="drained")
    assert tries == [1, 2, 3]
    assert results.get_job(outcome.id) is None, "removed, as they say"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delay": 5}, "delay"),
        ({"attempts": -1}, "attempts"),
        (["attempts"], "must be a dict of options of jobs"),
    ],
)
def test_options_that_an_outcome_cannot_have_are_refused(
    new_worker: Callable[..., Worker], options: object, text: str
) -> None:
    with pytest.raises((errors.InvalidOptionError, errors.UnknownOptionError), match=text):
        new_worker(_send, results_options=options)


def test_options_of_outcomes_need_a_queue_for_them(redis_url: str, queue_name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match="needs a results_queue"):
        Worker(queue_name, _send, url=redis_url, results_options={"attempts": 3})


@pytest.mark.parametrize("options", [{"prefetch": 0}, {"remove_on_complete": True}, {"concurrency": 50}])
def test_a_thousand_jobs_have_a_thousand_results(
    queue: Queue, results: Queue, new_worker: Callable[..., Worker], options: dict
) -> None:
    queue.add_bulk([{"name": "n", "data": number} for number in range(1000)])
    new_worker(lambda job: job.data, **options).run(until="drained")
    assert sorted(one["returnvalue"] for one in _found(results)) == list(range(1000))


def test_jobs_finished_by_hand_have_results_too(
    queue: Queue, results: Queue, new_worker: Callable[..., Worker]
) -> None:
    queue.add("n", 1)
    with new_worker() as worker:
        worker.get_next_job("t").move_to_completed("done", fetch_next=False)
    [one] = _found(results)
    assert one["returnvalue"] == "done"


def test_a_queue_of_bull_gets_no_results(
    queue: Queue, results: Queue, new_worker: Callable[..., Worker], redis: Redis
) -> None:
    listening = redis.pubsub()
    listening.subscribe(f"bull:{results.name}:delayed")
    assert listening.get_message(timeout=10)
    queue.add("n", 1)
    with pytest.raises(errors.LegacyQueueError, match=results.name):
        new_worker(lambda job: 1).run(until="drained")
    listening.close()
    assert queue.get_waiting_count() == 1


@pytest.mark.parametrize(
    ("name", "text"), [("a:b", "cannot contain :"), ("", "must be provided"), (7, "must be the name of a queue")]
)
def test_a_name_that_is_none_is_refused(new_worker: Callable[..., Worker], name: object, text: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match=text):
        new_worker(lambda job: 1, results_queue=name)


def test_the_own_queue_is_refused(new_worker: Callable[..., Worker], queue_name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match="each result would be its next job"):
        new_worker(lambda job: 1, results_queue=queue_name)
