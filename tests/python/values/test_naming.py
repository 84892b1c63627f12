"""Names that do not exist: the error says what to write instead."""

from collections.abc import Callable
from typing import Any

import pytest

from bullrush import FlowProducer, Queue, QueueEvents, Tasks, Worker, aio
from bullrush.errors import InvalidOptionError, UnknownOptionError
from bullrush.values.naming import check_known, nearest

URL = "redis://127.0.0.1:1/0"
BY_KEYWORD = "options are keyword arguments: "
IN_OPTS = r"it belongs into opts: {'opts': {'attempts': ...}}"


def task(**options: Any) -> object:
    return Tasks("q").task(**options)


WRONG: dict[str, tuple[Callable[[Queue], object], str]] = {
    "retries of a job": (lambda queue: queue.add("n", retries=3), "add() has no option 'retries': use 'attempts'"),
    "maxRetries of a job": (lambda queue: queue.add("n", maxRetries=3), "use 'attempts'"),
    "cron of a job": (lambda queue: queue.add("n", cron="* * * * *"), "use Queue.upsert_job_scheduler(id, {'pattern'"),
    "timeout of a job": (lambda queue: queue.add("n", timeout=5), "is an option of Worker and of a task: timeout="),
    "opts of a job": (lambda queue: queue.add("n", opts={}), BY_KEYWORD + "add(name, data, attempts=3)"),
    "options of a job": (lambda queue: queue.add("n", options={}), BY_KEYWORD + "add(name, data, attempts=3)"),
    "attempts beside opts": (lambda queue: queue.add_bulk([{"name": "n", "attempts": 3}]), IN_OPTS),
    "retries beside opts": (lambda queue: queue.add_bulk([{"name": "n", "retries": 3}]), IN_OPTS),
    "attempts in a template": (lambda queue: queue.upsert_job_scheduler("s", {"every": 5}, {"attempts": 3}), IN_OPTS),
    "attempts of a flow": (
        lambda queue: FlowProducer(url=URL).add({"name": "n", "queue_name": "q", "attempts": 3}),
        IN_OPTS,
    ),
    "cron of a scheduler": (
        lambda queue: queue.upsert_job_scheduler("s", {"cron": "* * * * *"}),
        "repeat has no option 'cron': use 'pattern'",
    ),
    "redis": (lambda queue: Queue("q", redis=URL), "Queue has no option 'redis': use 'url', such as url='redis://"),
    "connection": (lambda queue: Worker("q", print, connection={}), "use 'url', such as url='redis://"),
    "client": (lambda queue: QueueEvents("q", client=None), "use 'url', such as url='redis://"),
    "workers": (lambda queue: Worker("q", print, workers=3), "Worker has no option 'workers': use 'concurrency'"),
    "concurrent": (lambda queue: Worker("q", print, concurrent=3), "use 'concurrency'"),
    "concurrency of a queue": (lambda queue: Queue("q", concurrency=3), "it is an option of Worker"),
    "attempts of a worker": (lambda queue: Worker("q", print, attempts=3), "it is an option of a job"),
    "retry_if of a worker": (lambda queue: Worker("q", print, retry_if=bool), "use 'classify', such as classify="),
    "max_retries of a worker": (lambda queue: Worker("q", print, max_retries=3), "it is an option of a job: Queue.add"),
    "rate_limit of a worker": (lambda queue: Worker("q", print, rate_limit="9/s"), "use 'limiter'"),
    "eta of a job": (lambda queue: queue.add("n", eta=0), "use 'delay', such as delay=60_000, in ms"),
    "autoretry_for of a job": (lambda queue: queue.add("n", autoretry_for=()), "option of a task, retry_if=, or of W"),
    "autoretry_for of a task": (
        lambda queue: task(autoretry_for=(OSError,)),
        "task() has no option 'autoretry_for': use 'retry_if', such as retry_if=lambda error: isinstance(",
    ),
    "eta of a task": (lambda queue: task(eta=0), "use 'delay', such as delay=60_000, in ms"),
    "expires of a task": (lambda queue: task(expires=60), "jobs do not expire: let the task return early if"),
    "expires of a job": (lambda queue: queue.add("n", expires=60), "jobs do not expire"),
    "queue of a task": (lambda queue: task(queue="q"), "the queue is the first argument of Queue and of Tasks"),
    "bind of a task": (lambda queue: task(bind=True), "bullrush.current_job() returns the job, inside a task"),
    "acks_late of a task": (lambda queue: task(acks_late=True), "it is always so: a job is done when its outcome"),
    "rate_limit of a task": (
        lambda queue: task(rate_limit="9/s"),
        "an option of Worker, and of Tasks in worker_options",
    ),
    "soft_time_limit of a task": (lambda queue: task(soft_time_limit=5), "there is none: use asyncio.timeout() in the"),
    "soft_time_limit of a job": (
        lambda queue: queue.add("n", soft_time_limit=5),
        "there is none: use asyncio.timeout() in the task",
    ),
    "retry_backoff of a task": (lambda queue: task(retry_backoff=True), "use 'backoff'"),
    "opts of a worker": (
        lambda queue: Worker("q", print, opts={}),
        BY_KEYWORD + "Worker(queue_name, handler, concurrency=8)",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_name_of_node_or_of_another_library_gets_the_name_that_is_meant(wrong: str) -> None:
    call: Callable[[Any], object]
    call, advice = WRONG[wrong]
    with pytest.raises(UnknownOptionError) as caught:
        call(Queue("q", url=URL))
    assert advice in str(caught.value)


def test_only_a_similar_name_is_suggested() -> None:
    assert nearest("concurency", ["concurrency", "prefix"]) == " Did you mean 'concurrency'?"
    assert nearest("ttl", ["lifo", "url", "timeout"]) == " There are: lifo, timeout, url"
    assert nearest("x", [str(n) for n in range(12)], 10) == " There are: 0, 1, 10, 11, 2, 3, 4, 5, 6, 7 and 2 more"
    assert nearest("x", ()) == " There are none."
    with pytest.raises(UnknownOptionError, match="There are: delay, jitter, type$"):
        check_known(["ratio"], ["type", "delay", "jitter"], "backoff")


class Redis:
    """The client of another library. Its text shows a password."""

    def __repr__(self) -> str:
        return "Redis(password=secret)"


@pytest.mark.parametrize("kind", [Queue, aio.Queue, Worker, aio.Worker, QueueEvents])
def test_a_client_object_as_url_is_refused_without_being_shown(kind: Callable[..., object]) -> None:
    with pytest.raises(
        InvalidOptionError, match="url must be a str, not Redis: .*pass the URL, such as url='re"
    ) as caught:
        kind("q", url=Redis())
    assert "secret" not in str(caught.value)


CALLS: dict[str, Callable[[Queue], object]] = {
    "get_job": lambda queue: queue.get_job(7),  # type: ignore[arg-type]
    "get_job_state": lambda queue: queue.get_job_state(7),  # type: ignore[arg-type]
    "get_job_logs": lambda queue: queue.get_job_logs(7),  # type: ignore[arg-type]
    "remove": lambda queue: queue.remove(7),  # type: ignore[arg-type]
    "update_job_progress": lambda queue: queue.update_job_progress(7, 50),  # type: ignore[arg-type]
    "add_job_log": lambda queue: queue.add_job_log(7, "row"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", CALLS)
def test_a_number_as_the_id_of_an_existing_job_is_refused_with_the_text_to_write(call: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"job_id must be a str, not int: .* use str\(7\)"):
        CALLS[call](Queue("q", url=URL))


@pytest.mark.parametrize("job_id", [7, "7"])
def test_a_number_as_a_custom_id_is_refused_with_an_id_that_works(job_id: Any) -> None:
    with pytest.raises(InvalidOptionError, match="^Custom Id cannot be integers: job_id must be a str .*'order-7'"):
        Queue("q", url=URL).add("n", job_id=job_id)
