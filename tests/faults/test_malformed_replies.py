"""A server that sends malformed replies: the caller gets a bullrush error, and nothing grows or hangs."""

import contextlib

import pytest

from bullrush import Queue, Worker, errors

from .fake_server import FakeServer

REPLIES = {
    "no Redis": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nfoo",
    "bytes": bytes(range(128, 256)) + b"\r\n",
    "a number": b":5\r\n",
    "a very small number": b":-9223372036854775808\r\n",
    "nothing": b"$-1\r\n",
    "a negative length": b"$-7\r\n",
    "no text": b"$4\r\n\xff\xfe\xff\x80\r\n",
    "fine": b"+OK\r\n",
    "an empty list": b"*0\r\n",
    "an odd list": b"*3\r\n:1\r\n$1\r\na\r\n*0\r\n",
    "a nested list": b"*1\r\n*1\r\n*1\r\n$1\r\na\r\n",
    "a list without end": b"*2147483647\r\n:1\r\n",
    "a text without end": b"$9223372036854775807\r\nabc",
    "a list in itself": b"*1\r\n" * 10_000 + b":1\r\n",
    "packed jobs without end": b"*5\r\n$5\r\n\xdd\xff\xff\xff\xff\r\n:1\r\n:0\r\n:0\r\n:0\r\n",
    "no number": b",nan\r\n",
    "an error without words": b"-\r\n",
    "an error in no language": b"-ERR \xff\xff\r\n",
    "a map": b"%1\r\n+a\r\n:1\r\n",
}


class Babbling(FakeServer):
    """Replies correctly until it is asked for a key of the queue."""

    def __init__(self, reply: bytes) -> None:
        super().__init__("7.0.0")
        self._reply = reply

    def answer(self, command: list[bytes]) -> bytes:
        name = command[0].upper()
        if name == b"TYPE":
            return b"+none\r\n"
        return super().answer(command) if name in (b"INFO", b"CLIENT", b"SELECT", b"ECHO") else self._reply


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_malformed_reply_raises_a_bullrush_error(reply):
    with Babbling(reply) as server, Queue("work", url=server.url, timeout=100) as queue:
        job = None
        for use in (
            lambda: queue.add("quick"),
            lambda: queue.add_bulk([{"name": "quick"}] * 3),
            lambda: queue.get_job("1"),
            lambda: queue.get_jobs("completed"),
            queue.get_job_counts,
            lambda: queue.get_job_logs("1"),
            lambda: queue.get_metrics("completed"),
            queue.get_workers,
            queue.get_job_schedulers,
            queue.is_paused,
            queue.pause,
            lambda: queue.get_job_state("1"),
        ):
            with contextlib.suppress(errors.BullrushError):
                job = use()
        del job


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_worker_ends_in_time_whatever_the_server_replies(reply):
    with Babbling(reply) as server:
        worker = Worker("work", lambda job: None, url=server.url)
        with contextlib.suppress(errors.BullrushError):
            worker.run(max_seconds=0.1)
        worker.close(force=True)
