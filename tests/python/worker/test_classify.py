"""Which exceptions are retried, and when: errors of the handler's own, classifiers, and the event ``retrying``."""

import asyncio
import smtplib
import socket
import urllib.error
from collections.abc import Callable, Mapping
from datetime import timedelta
from email.message import Message
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio, classifiers, errors
from bullrush.retries import FAIL, RETRY, Retry
from bullrush.worker.routes import Route

from . import process_handlers

Make = Callable[..., Worker]


def fails_with(error: BaseException) -> Callable[[Job], None]:
    def fail(job: Job) -> None:
        if job.attempts_made == 0:
            raise error

    return fail


def outcome(worker: Worker) -> tuple[int, int, int, list[int]]:
    """Return how many jobs completed, failed and were retried, and after which delays."""
    delays: list[int] = []
    worker.on("retrying", lambda job, error, at: delays.append(job.delay))
    stats = worker.run(until="drained")
    return stats.completed, stats.failed, stats.retried, delays


@pytest.mark.parametrize("delay", [30, timedelta(milliseconds=30)])
def test_a_transient_error_may_say_when_its_job_runs_again(delay: Any, queue: Queue, worker: Make) -> None:
    queue.add("n", attempts=2, backoff=600_000)
    assert outcome(worker(fails_with(errors.TransientError("busy", delay=delay)))) == (1, 0, 1, [30])


def test_a_transient_error_without_a_delay_keeps_the_backoff(queue: Queue, worker: Make) -> None:
    queue.add("n", attempts=2, backoff=40)
    assert outcome(worker(fails_with(errors.TransientError()))) == (1, 0, 1, [40])


def test_a_transient_error_counts_as_an_attempt(queue: Queue, worker: Make) -> None:
    job = queue.add("n")
    assert outcome(worker(fails_with(errors.TransientError("busy", delay=10)))) == (0, 1, 0, [])
    stored = queue.get_job(job.id)
    assert stored is not None
    assert (stored.attempts_made, stored.failed_reason) == (1, "busy")


def test_a_permanent_error_is_not_retried(queue: Queue, worker: Make) -> None:
    queue.add("n", attempts=5)
    assert outcome(worker(fails_with(errors.PermanentError("never")), classify=lambda _: RETRY)) == (0, 1, 0, [])


@pytest.mark.parametrize("delay", [-1, "soon", 1.5, True, 10**400])
def test_a_delay_that_is_none_keeps_the_backoff(delay: Any, queue: Queue, worker: Make) -> None:
    w, reported = worker(fails_with(errors.TransientError(delay=delay))), []
    w.on("error", reported.append)
    queue.add("n", attempts=2, backoff=20)
    assert outcome(w) == (1, 0, 1, [20])
    assert [type(error) for error in reported] == [errors.InvalidOptionError]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (RETRY, (1, 0, 1, [25])),
        (True, (1, 0, 1, [25])),
        (None, (1, 0, 1, [25])),
        (FAIL, (0, 1, 0, [])),
        (False, (0, 1, 0, [])),
        (Retry(delay=5), (1, 0, 1, [5])),
    ],
)
def test_classify_decides_about_an_exception(verdict: Any, expected: Any, queue: Queue, worker: Make) -> None:
    queue.add("n", attempts=2, backoff=25)
    assert outcome(worker(fails_with(ValueError("boom")), classify=lambda _: verdict)) == expected


def test_a_retry_needs_attempts_that_are_left(queue: Queue, worker: Make) -> None:
    queue.add("n")
    assert outcome(worker(fails_with(ValueError("boom")), classify=lambda _: Retry(delay=1))) == (0, 1, 0, [])


def test_a_verdict_spares_the_backoff_strategy(queue: Queue, worker: Make) -> None:
    queue.add("n", attempts=2, backoff={"type": "mine"})
    assert outcome(worker(fails_with(ValueError("boom")), classify=lambda _: Retry(delay=5))) == (1, 0, 1, [5])


class Odd(Retry):
    """A subclass is not a verdict: its attributes may be anything."""


def raising(error: BaseException) -> Any:
    def classify(_: BaseException) -> Any:
        raise error

    return classify


def broken_retry() -> Retry:
    broken = Retry(delay=1)
    object.__setattr__(broken, "delay", object())
    return broken


HOSTILE: dict[str, Any] = {
    "raises": raising(ZeroDivisionError()),
    "exits": raising(SystemExit(3)),
    "is interrupted": raising(KeyboardInterrupt()),
    "is cancelled": raising(asyncio.CancelledError()),
    "text": lambda _: "retry",
    "class": lambda _: Retry,
    "subclass": lambda _: Odd(delay=1),
    "broken": lambda _: broken_retry(),
    "wrong arguments": lambda: RETRY,
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("kind", ["thread", "loop", "batch"])
def test_a_classifier_that_misbehaves_has_no_say(
    kind: str, hostile: str, queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    fail = fails_with(ValueError("boom"))

    async def fail_async(job: aio.Job) -> None:
        fail(job)  # type: ignore[arg-type]

    def fail_each(jobs: list[Job]) -> list[Any]:
        return [process_handlers.tried(fail, job) for job in jobs]

    handlers: dict[str, Any] = {
        "thread": {"handler": fail},
        "loop": {"handler": fail_async},
        "batch": {"batch_handler": fail_each, "batch_size": 2},
    }
    w = worker(**handlers[kind], classify=HOSTILE[hostile])
    queue.add("n", attempts=2, backoff=15)
    assert outcome(w) == (1, 0, 1, [15])
    assert "classify " in caplog.text and ": the options of job 1 decide instead" in caplog.text


def test_an_answer_that_is_no_verdict_is_shown_with_those_that_are(
    queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    w, reported = worker(fails_with(ValueError("boom")), classify=HOSTILE["text"]), []
    w.on("error", reported.append)
    queue.add("n", attempts=2)
    w.run(until="drained")
    says = "classify must return RETRY or True, FAIL or False, Retry(delay=...), or None, not 'retry'"
    assert [str(error) for error in reported] == [says]
    assert f"{says}: the options of job 1 decide instead" in caplog.text


def test_a_very_long_delay_is_an_outcome_too(queue: Queue, worker: Make) -> None:
    job = queue.add("n", attempts=2)
    w = worker(fails_with(ValueError("boom")), classify=lambda _: Retry(delay=2**53 - 1))
    w.run(until="empty")
    assert queue.get_job(job.id).get_state() in {"delayed", "failed"}  # type: ignore[union-attr]


def test_the_route_of_a_job_is_asked_before_the_worker(queue: Queue, redis_url: str) -> None:
    class Source:
        queue: str
        prefix, url = "bull", redis_url
        worker_options: Mapping[str, Any] = {}

        def routes(self) -> Any:
            own = lambda error: Retry(delay=3) if isinstance(error, ValueError) else None  # noqa: E731
            return {
                "value": Route(fails_with(ValueError()), classify=own),
                "key": Route(fails_with(KeyError()), classify=own),
            }

        running = arunning = None

    source = Source()
    source.queue = queue.name
    source.running = lambda worker: __import__("contextlib").nullcontext()  # type: ignore[assignment]
    queue.add("value", attempts=2)
    queue.add("key", attempts=2)
    with Worker(source, url=redis_url, classify=lambda _: FAIL) as worker:  # type: ignore[arg-type]
        assert outcome(worker) == (1, 1, 1, [3])


def test_processes_and_jobs_by_hand_are_classified_too(queue: Queue, worker: Make) -> None:
    queue.add("n", "raise", attempts=2, backoff=600_000)
    w = worker(process_handlers.act, isolation="process", classify=lambda _: FAIL)
    assert outcome(w)[:3] == (0, 1, 0)
    job = queue.add("n", attempts=2, backoff=600_000)
    by_hand = worker(fails_with(ValueError("boom")), classify=lambda _: Retry(delay=7))
    reported: list[int] = []
    by_hand.on("retrying", lambda job, error, at: reported.append(at))
    by_hand.process_job(by_hand.get_next_job("token", block=False))
    stored = queue.get_job(job.id)
    assert stored is not None
    assert (stored.get_state(), stored.delay, len(reported)) == ("delayed", 7, 1)


def test_retrying_tells_when_the_job_runs_again(queue: Queue, worker: Make, redis: Any) -> None:
    w, reported = worker(fails_with(ValueError("boom"))), []
    w.on("retrying", lambda job, error, at: reported.append((job.id, str(error), at)))
    job = queue.add("n", attempts=2, backoff=600_000)
    w.run(until="empty")
    score = redis.zscore(f"bull:{queue.name}:delayed", job.id)
    assert reported == [(job.id, "boom", int(score) >> 12)]


@pytest.mark.parametrize("make", [Worker, aio.Worker])
def test_retrying_is_an_event_of_both_workers(make: Any, queue: Queue, redis_url: str) -> None:
    reported: list[Any] = []
    queue.add("n", attempts=3)

    async def main() -> None:
        worker = make(queue.name, fails_with(ValueError("boom")), url=redis_url)
        worker.on("retrying", lambda job, error, at: reported.append(job))
        ran = worker.run(until="drained")
        if make is aio.Worker:
            await ran

    asyncio.run(main())
    (job,) = reported
    assert isinstance(job, Job if make is Worker else aio.Job)
    assert job.attempts_made == 1


class Response:
    def __init__(self, status: int, **headers: str) -> None:
        self.status_code, self.headers = status, headers


class HTTPStatusError(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        self.response = Response(status, **{name.replace("_", "-"): value for name, value in headers.items()})


class SMTPException(Exception):
    """As those of aiosmtplib."""

    def __init__(self, code: int, recipients: list[Exception] | None = None) -> None:
        self.code, self.recipients = code, recipients


class TransportError(Exception):
    """As that of httpx."""


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ConnectionResetError(), RETRY),
        (TimeoutError(), RETRY),
        (socket.gaierror(), RETRY),
        (TransportError(), RETRY),
        (HTTPStatusError(503), RETRY),
        (HTTPStatusError(429, Retry_After="7"), Retry(delay=7_000)),
        (HTTPStatusError(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), RETRY),
        (HTTPStatusError(404), FAIL),
        (urllib.error.HTTPError("http://h", 404, "Not Found", Message(), None), FAIL),
        (urllib.error.HTTPError("http://h", 502, "Bad Gateway", Message(), None), RETRY),
        (smtplib.SMTPServerDisconnected("gone"), RETRY),
        (smtplib.SMTPDataError(451, b"try later"), RETRY),
        (smtplib.SMTPDataError(554, b"never"), FAIL),
        (smtplib.SMTPRecipientsRefused({"a": (550, b"unknown"), "b": (451, b"try later")}), RETRY),
        (smtplib.SMTPRecipientsRefused({"a": (550, b"unknown")}), FAIL),
        (smtplib.SMTPNotSupportedError("no UTF-8"), None),
        (SMTPException(421), RETRY),
        (SMTPException(535), FAIL),
        (SMTPException(0, [SMTPException(450), SMTPException(550)]), RETRY),
        (ValueError(), None),
        (FileNotFoundError(), None),
    ],
)
def test_the_network_classifier(error: BaseException, verdict: Any) -> None:
    assert classifiers.network(error) == verdict


@pytest.mark.parametrize("delay", [-1, 0.5, "1"])
def test_a_retry_with_a_wrong_delay_is_refused(delay: Any) -> None:
    with pytest.raises(errors.InvalidOptionError, match="delay"):
        Retry(delay=delay)


def test_a_classifier_must_be_a_plain_function() -> None:
    async def classify(error: BaseException) -> Any:
        return FAIL

    with pytest.raises(errors.InvalidOptionError, match="classify must be a plain function, not an async def"):
        Worker("q", print, classify=classify)
