"""Local events, and the members that all classes share."""

import asyncio
import pickle
from collections.abc import Callable

import pytest

from bullrush import JobScheduler, Queue, QueueEvents, QueueEventsProducer, Worker, aio, errors
from tests.waiting import wait_until


def test_a_queue_emits_an_event_for_each_change(queue: Queue) -> None:
    reported: list[tuple] = []
    for event in ("waiting", "paused", "resumed", "removed", "progress"):
        queue.on(event, lambda *arguments, event=event: reported.append((event, *arguments)))
    first, second = queue.add("n"), queue.add("n")
    queue.add_bulk([{"name": "unheard"}])
    queue.pause()
    queue.resume()
    first.update_progress(7)
    queue.update_job_progress(second.id, 8)
    first.remove()
    queue.remove(second.id)
    queue.obliterate()
    assert reported == [
        ("waiting", first),
        ("waiting", second),
        ("paused",),
        ("resumed",),
        ("progress", first, 7),
        ("removed", first),
        ("removed", second.id),
        ("paused",),
    ]


def test_on_once_off_and_emit_follow_the_rules_of_an_emitter(queue: Queue) -> None:
    reported: list[object] = []

    @queue.on("error")
    def often(error: object) -> None:
        reported.append(error)

    @queue.once("error")
    def once(error: object) -> None:
        reported.append(("once", error))

    assert queue.emit("error", 1)
    queue.emit("error", 2)
    queue.off("error", often)
    assert not queue.emit("error", 3)
    assert reported == [1, ("once", 1), 2]


def test_a_listener_that_raises_is_logged_and_the_others_are_called(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    reported: list[str] = []
    queue.on("paused", lambda: 1 / 0)
    queue.on("paused", lambda: reported.append("second"))
    queue.pause()
    assert reported == ["second"]
    assert "A listener of 'paused' failed" in caplog.text


def test_an_event_that_does_not_exist_is_refused(queue: Queue) -> None:
    with pytest.raises(errors.InvalidOptionError, match=r"Queue has no event 'pause'.*Did you mean 'paused'"):
        queue.on("pause", print)


def test_a_pickled_queue_has_no_listeners(queue: Queue) -> None:
    queue.on("paused", lambda: None)
    assert not pickle.loads(pickle.dumps(queue)).emit("paused")


def test_listeners_of_asyncio_may_be_coroutine_functions(redis_url: str, queue_name: str) -> None:
    async def main() -> list[str]:
        reported: asyncio.Queue[str] = asyncio.Queue()
        async with aio.Queue(queue_name, url=redis_url) as queue:
            queue.on("paused", lambda: reported.put("paused"))
            queue.on("resumed", lambda: reported.put_nowait("resumed"))
            await queue.pause()
            await queue.resume()
            return sorted([await reported.get(), await reported.get()])

    assert asyncio.run(asyncio.wait_for(main(), 10)) == ["paused", "resumed"]


@pytest.mark.parametrize("kind", [Queue, Worker, QueueEvents, QueueEventsProducer, JobScheduler])
def test_every_class_names_its_queue_and_its_keys(kind: Callable, redis_url: str, queue_name: str) -> None:
    arguments = [print] if kind is Worker else []
    handle = kind(queue_name, *arguments, url=redis_url, prefix="p")
    assert (handle.name, handle.prefix, handle.qualified_name) == (queue_name, "p", f"p:{queue_name}")
    assert handle.to_key("wait") == handle.keys["wait"] == f"p:{queue_name}:wait"
    assert (handle.keys[""], len(handle.keys)) == (f"p:{queue_name}:", 19)
    assert handle.opts["prefix"] == "p"
    handle.wait_until_ready()
    assert handle.redis_version.split(".")[0].isdigit()
    reported: list[str] = []
    handle.on("error", reported.append)
    assert handle.emit("error", "once")
    handle.off("error", reported.append)
    assert (handle.emit("error", "no more"), reported) == (False, ["once"])
    assert handle.closing is None
    handle.disconnect()
    assert handle.closing


def test_options_are_shown_without_the_password() -> None:
    queue = Queue("q", url="redis://user:secret@host/0")
    assert "secret" not in repr(queue.opts)
    assert queue.opts["url"] == "redis://user:secret@host/0"


def test_a_worker_disconnects_without_waiting_for_its_jobs(queue: Queue, worker: Callable) -> None:
    running: list[str] = []

    def handler(job: object) -> None:
        running.append("yes")
        wait_until(lambda: w.closing, seconds=10)

    w = worker(handler, autorun=True)
    queue.add("n")
    wait_until(lambda: running)
    w.disconnect()
    assert w.closing
    wait_until(lambda: not w.is_running())
