"""A worker of several queues keeps every job when connections break, also those with the same id in several queues."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from bullrush import Queue, Worker, errors
from bullrush.worker.lanes.lane import Lane
from tests.waiting import wait_until

NAMES = [f"lane{number}" for number in range(3)]
PER_QUEUE = 60


@pytest.fixture
def serve(proxy) -> Iterator[Callable[..., Counter]]:
    """Start a worker of all queues behind the proxy; return how often it ran each job, by queue and id."""
    running: list[tuple[Worker, threading.Thread]] = []

    def start(**options) -> Counter:
        runs: Counter = Counter()
        lock = threading.Lock()

        def handler(job) -> None:
            with lock:
                runs[job.queue_name, job.id] += 1
            if job.name == "fails once" and job.attempts_started == 1:
                raise ValueError(job.queue_name)

        worker = Worker(
            NAMES[0], handler, url=proxy.url, lock_duration=60_000, skip_stalled_check=True, drain_delay=500, **options
        )
        worker.serve([Lane(name, weight=weight) for weight, name in enumerate(NAMES, 1)])
        thread = threading.Thread(target=worker.run)
        thread.start()
        running.append((worker, thread))
        return runs

    yield start
    for worker, thread in running:
        worker.close()
        thread.join()


@pytest.fixture
def queues(server) -> Iterator[list[Queue]]:
    made = [Queue(name, url=server.url) for name in NAMES]
    yield made
    for queue in made:
        queue.close()


def all_done(queues: list[Queue], count: int) -> bool:
    return all(queue.get_completed_count() == count and not queue.get_active_count() for queue in queues)


@pytest.mark.parametrize("break_", ["cut", "reset"])
def test_broken_connections_lose_nothing_and_repeat_nothing(proxy, serve, queues, break_):
    runs = serve(concurrency=4)
    for number in range(PER_QUEUE):
        for queue in queues:
            queue.add("fails once" if number % 5 == 0 else "n", {}, attempts=2)
        if number % 10 == 9:
            getattr(proxy, break_)()
    wait_until(lambda: all_done(queues, PER_QUEUE), "all jobs are done")
    expected = {(name, str(at + 1)): 2 if at % 5 == 0 else 1 for name in NAMES for at in range(PER_QUEUE)}
    assert runs == expected


@pytest.mark.parametrize("script", ["move_to_active", "move_to_finished"])
def test_a_lost_reply_is_found_in_the_queue_that_it_came_from(proxy, serve, queues, own_redis, script):
    runs = serve(concurrency=3)
    queues[0].add("n", {})
    wait_until(lambda: all_done(queues[:1], 1), "the worker has warmed up")
    trap = proxy.lose_reply(script, when=lambda _: own_redis.llen(queues[1].to_key("wait")) > 0)
    for queue in queues[1:]:
        queue.add_bulk([{"name": "n"} for _ in range(20)])
    wait_until(lambda: all_done(queues[1:], 20), "all jobs are done")
    assert trap.sprung.is_set()
    assert set(runs.values()) == {1}
    assert {queue.get_job("1").attempts_started for queue in queues} == {1}


def test_on_a_cluster_the_prefix_needs_a_hash_tag(cluster):
    for prefix, fits in (("bull", False), ("{bull}", True)):
        done: list[str] = []
        worker = Worker("{tag}a", lambda job, done=done: done.append(job.queue_name), url=cluster, prefix=prefix)
        worker.serve([Lane("{tag}a"), Lane("{tag}b")])
        with Queue("{tag}b", url=cluster, prefix=prefix) as queue:
            queue.add("n", {})
        if fits:
            worker.run(until="empty")
            assert done == ["{tag}b"]
        else:
            with pytest.raises(errors.QueueNameError, match='use prefix "{bull}"'):
                worker.run(until="empty")
            assert done == []


@pytest.mark.parametrize(("results", "fits"), [("{tag}results", True), ("{other}results", False)])
def test_on_a_cluster_the_queue_for_results_shares_the_hash_tag(cluster, results, fits):
    with Queue("{tag}work", url=cluster) as queue, Queue(results, url=cluster) as others:
        before = others.get_waiting_count()
        job = queue.add("n")
        worker = Worker(queue.name, lambda job: 1, url=cluster, results_queue=results)
        by_hand = Worker(queue.name, url=cluster, results_queue=results)
        if fits:
            worker.run(until="drained")
            assert others.get_waiting_count() == before + 1
        else:
            for use in (lambda: worker.run(until="drained"), lambda: by_hand.get_next_job("t", block=False)):
                with pytest.raises(errors.QueueNameError, match="must share the hash tag of queue {tag}work"):
                    use()
            assert job.get_state() == "waiting"
