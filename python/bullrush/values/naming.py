"""Checks and spelling of names: queues, jobs, ids, options.

Where BullMQ has a rule or an error text, it is the same here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final, NoReturn

from bullrush._core import is_key_of_queue as is_key_of_queue
from bullrush._core import is_reserved_id as is_reserved_id
from bullrush._core import owner_of_key as owner_of_key
from bullrush.errors import InvalidOptionError, QueueNameError, UnknownOptionError
from bullrush.values.shown import shown

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID_PARTS: Final = 3
#: No job has an id that begins so: `add` refuses it, and so does BullMQ.
_OF_NO_JOB: Final = "0:"
_LONGEST_BATCH_ID: Final = 200
#: How similar a known name must be to be suggested, from 0 to 1.
_SIMILAR: Final = 0.7

_URL: Final = "redis://127.0.0.1:6379/0"
#: Names that options have in BullMQ for Node and in other libraries -> the options that may be meant here. The first
#: one that exists is suggested.
_OTHER_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "autoretry_for": ("retry_if", "classify"),
    "broker": ("url",),
    "classify": ("retry_if",),
    "client": ("url",),
    "concurrent": ("concurrency",),
    "connection": ("url",),
    "countdown": ("delay",),
    "cron": ("pattern",),
    "crontab": ("pattern",),
    "default_retry_delay": ("backoff",),
    "dsn": ("url",),
    "eta": ("delay",),
    "host": ("url",),
    "id": ("job_id",),
    "interval": ("every",),
    "key_prefix": ("prefix",),
    "max_attempts": ("attempts",),
    "max_retries": ("attempts",),
    "max_tries": ("attempts",),
    "max_workers": ("concurrency",),
    "namespace": ("prefix",),
    "num_workers": ("concurrency",),
    "options": ("opts",),
    "payload": ("data",),
    "port": ("url",),
    "processes": ("concurrency",),
    "queue": ("queue_name",),
    "rate_limit": ("limiter",),
    "redis": ("url",),
    "redis_url": ("url",),
    "retries": ("attempts",),
    "retry": ("attempts",),
    "retry_backoff": ("backoff",),
    "retry_backoff_max": ("max_backoff",),
    "retry_delay": ("backoff",),
    "retry_if": ("classify",),
    "task_id": ("job_id",),
    "threads": ("concurrency",),
    "time_limit": ("timeout",),
    "time_zone": ("tz",),
    "timezone": ("tz",),
    "tries": ("attempts",),
    "unique_id": ("job_id",),
    "workers": ("concurrency",),
}
#: What errors show of an option besides its name.
_SUCH_AS: Final[dict[str, str]] = {
    "classify": "classify=lambda error: isinstance(error, OSError)",
    "delay": "delay=60_000, in ms",
    "retry_if": "retry_if=lambda error: isinstance(error, OSError), attempts=4",
    "timeout": "timeout=30_000, in ms",
    "url": f"url={_URL!r}",
}
#: Names that calls have in other libraries -> the calls that may be meant. The first one that exists is suggested.
_OTHER_CALLS: Final[dict[str, tuple[str, ...]]] = {
    "get": ("result(timeout=5_000)", "wait_until_finished(timeout=5_000)"),
    "ready": ("get_state()",),
    "result": ("wait_until_finished(timeout=5_000)",),
    "revoke": ("cancel() while it runs, remove() before",),
    "state": ("get_state()",),
    "status": ("get_state()",),
    "successful": ("is_completed()",),
}
#: Options that exist elsewhere in bullrush -> where.
_OTHER_PLACES: Final[dict[str, str]] = {
    "acks_late": "it is always so: a job is done when its outcome is stored, and one whose worker died runs again",
    "attempts": (
        "it is an option of a job: Queue.add(name, data, attempts=3), a task(attempts=3), or of all of a Queue or "
        "Tasks: default_job_options={'attempts': 3}"
    ),
    "backoff": (
        "it is an option of a job: Queue.add(name, data, backoff=1000), a task(backoff=1000), or of all of a Queue or "
        "Tasks: default_job_options={'backoff': 1000}"
    ),
    "bind": "bullrush.current_job() returns the job, inside a task or a handler",
    "concurrency": "it is an option of Worker; for all workers of a queue: Queue.set_global_concurrency()",
    "cron": "use Queue.upsert_job_scheduler(id, {'pattern': '0 9 * * *'})",
    "expires": "jobs do not expire: let the task return early if current_job().timestamp is too old",
    "every": "use Queue.upsert_job_scheduler(id, {'every': 60_000})",
    "max_backoff": (
        "it is an option of Worker, for all of its jobs: Worker(..., max_backoff=600_000) or "
        "Tasks(..., worker_options={'max_backoff': 600_000})"
    ),
    "soft_time_limit": (
        "there is none: use asyncio.timeout() in the task, or let it look at the clock; timeout= ends the attempt"
    ),
    "ignore_result": "let the function return None; or give remove_on_complete=True, which removes the whole job",
    "limiter": (
        "it is an option of Worker, and of Tasks in worker_options={'limiter': {'max': 10, 'duration': 1_000}}; for "
        "all workers of a queue: Queue.set_global_rate_limit()"
    ),
    "link": "let the function add the next job at its end, or add both as a flow with FlowProducer",
    "link_error": "listen with worker.on('failed', ...), or give the worker results_queue=",
    "pattern": "use Queue.upsert_job_scheduler(id, {'pattern': '0 9 * * *'})",
    "queue": "the queue is the first argument of Queue and of Tasks",
    "repeat": "use Queue.upsert_job_scheduler()",
    "retry_if": "which exceptions are retried is an option of a task, retry_if=, or of Worker: classify=",
    "timeout": (
        "the time that a handler may take is an option of Worker and of a task: timeout=; how long a call waits for "
        "Redis is one of Queue: timeout=, and of Tasks: redis_timeout="
    ),
}
#: How options are given, by the name of the function or class.
_EXAMPLES: Final[dict[str, str]] = {
    "add": "add(name, data, attempts=3)",
    "FlowProducer": f"FlowProducer(url={_URL!r})",
    "Worker": "Worker(queue_name, handler, concurrency=8)",
}


def check_unicode(what: str, text: str) -> str:
    """Return a text that is valid UTF-8.

    Raises:
        InvalidOptionError: it has a lone surrogate.
    """
    if not text.isascii() and (found := _SURROGATE.search(text)):
        raise surrogate_error(what, text, found.start())
    return text


def surrogate_error(what: str, text: str, place: int) -> InvalidOptionError:
    """Return the error for a text with a lone surrogate.

    It does not show the text, which may be data of a job or a URL.
    """
    return InvalidOptionError(
        f"{what} has a lone surrogate, {text[place]!a}, which is not valid UTF-8: character {place + 1} of {len(text)}"
    )


def check_queue_name(name: object) -> str:
    """Return the name of a queue.

    Raises:
        QueueNameError: it is empty, or has a colon, control characters or a lone surrogate.
    """
    if name is None or name == "":
        raise QueueNameError("Queue name must be provided")
    if not isinstance(name, str):
        raise QueueNameError(
            f"Queue name must be provided as a str, before everything else, not as {type(name).__name__}"
        )
    if ":" in name:
        raise QueueNameError("Queue name cannot contain :")
    if _CONTROL.search(name):
        raise QueueNameError(f"Queue name cannot contain control characters: {name!r}")
    if _SURROGATE.search(name):
        raise QueueNameError(f"Queue name cannot contain a lone surrogate: {name!r}")
    return name


def is_queue_name(name: str) -> bool:
    """Return whether a text can be the name of a queue."""
    try:
        check_queue_name(name)
    except QueueNameError:
        return False
    return True


def check_prefix(prefix: object) -> str:
    """Return the prefix of a queue's keys.

    Raises:
        InvalidOptionError: it is empty or has control characters.
    """
    if not isinstance(prefix, str) or not prefix or _CONTROL.search(prefix):
        raise InvalidOptionError(f"prefix must be a text without control characters, not {shown(prefix)}")
    return check_unicode("prefix", prefix)


def to_key(prefix: str, queue: str, part: str) -> str:
    """Return the Redis key of a part of a queue, or of a job by its id."""
    return f"{prefix}:{queue}:{part}"


def check_job_name(name: object) -> str:
    """Return the name of a job.

    Raises:
        InvalidOptionError: it is not a str.
    """
    if not isinstance(name, str):
        raise InvalidOptionError(f"Job name must be a str, not {type(name).__name__}")
    return check_unicode("Job name", name)


def check_job_id(job_id: object) -> str:
    """Return a custom job id; ``""`` means an automatic id.

    Raises:
        InvalidOptionError: BullMQ would read it as something else, or it is a key of the queue itself.
    """
    if isinstance(job_id, int) and not isinstance(job_id, bool):
        raise InvalidOptionError(_integer_id(job_id))
    if not isinstance(job_id, str):
        raise InvalidOptionError(f"Custom Id must be a str, not {type(job_id).__name__}")
    if job_id == "0" or job_id.startswith("0:"):
        raise InvalidOptionError("JobId cannot be '0' or start with 0:")
    if _INTEGER.fullmatch(job_id):
        raise InvalidOptionError(_integer_id(job_id))
    if ":" in job_id and job_id.count(":") + 1 != _ID_PARTS:
        raise InvalidOptionError(f"Custom Id cannot contain : as in {job_id!r}; use another separator, such as - or /")
    if is_reserved_id(job_id):
        raise InvalidOptionError(f"Custom Id cannot be {job_id!r}: that key belongs to the queue")
    return check_unicode("Custom Id", job_id)


def _integer_id(job_id: int | str) -> str:
    return (
        "Custom Id cannot be integers: job_id must be a str that is not a whole number, since the queue numbers its "
        f"other jobs. Add a prefix, such as 'order-{job_id}'"
    )


def check_given_id(job_id: object) -> str:
    """Return the id of a job that exists.

    Raises:
        InvalidOptionError: it is not a str.
    """
    if isinstance(job_id, str):
        return job_id
    advice = f"; use str({job_id!r})" if isinstance(job_id, int) else ""
    raise InvalidOptionError(f"job_id must be a str, not {type(job_id).__name__}: the ids of jobs are texts{advice}")


def id_of_job(job_id: object) -> str:
    """Return the id by which a job is looked for.

    A name of another key, such as ``meta``, ``repeat:nightly`` or ``7:logs``, is the id of no job. It becomes an id
    that no job has, so that each call does what it does for a job that is gone.

    Raises:
        InvalidOptionError: it is not a str.
    """
    given = check_given_id(job_id)
    return f"{_OF_NO_JOB}{given}" if is_key_of_queue(given) or owner_of_key(given) != given else given


def check_batch_id(batch_id: object) -> str:
    """Return the id of a batch of jobs, which is a part of job ids and of a key.

    Raises:
        InvalidOptionError: it is not a text, is empty or too long, or has a colon, control characters or a lone
            surrogate.
    """
    if not isinstance(batch_id, str) or not 0 < len(batch_id) <= _LONGEST_BATCH_ID:
        raise InvalidOptionError(
            f"batch_id must be a text of 1 to {_LONGEST_BATCH_ID} characters, not {shown(batch_id)}"
        )
    if ":" in batch_id or _CONTROL.search(batch_id):
        raise InvalidOptionError(f"batch_id cannot contain a colon or control characters: {batch_id!r}")
    return check_unicode("batch_id", batch_id)


def check_known(given: Iterable[str], known: Collection[str], subject: str, *, opts: Collection[str] = ()) -> None:
    """Refuse options that do not exist.

    Args:
        given: the names that the caller used.
        known: the names that exist.
        subject: what takes the options; the first words of the message.
        opts: the names that belong into the member ``opts``.

    Raises:
        UnknownOptionError: a name does not exist.
    """
    for name in given:
        if name not in known:
            _raise_unknown(str(name), known, subject, opts)


def _raise_unknown(name: str, known: Collection[str], subject: str, opts: Collection[str]) -> NoReturn:
    snake = _CAMEL.sub("_", name).lower()
    problem = f"{subject} has no option {name!r}"
    if snake in known:
        raise UnknownOptionError(f"{problem}: options are snake_case here, use {snake!r}")
    names = (snake, *_OTHER_NAMES.get(snake, ()))
    for meant in names:
        if meant in known:
            example = f", such as {_SUCH_AS[meant]}" if meant in _SUCH_AS else ""
            raise UnknownOptionError(f"{problem}: use {meant!r}{example}")
        if meant in opts:
            raise UnknownOptionError(f"{problem}: it belongs into opts: {{'opts': {{{meant!r}: ...}}}}")
    if snake in {"opts", "options"}:
        raise UnknownOptionError(f"{problem}: {by_keyword(subject.removesuffix('()'))}")
    for meant in names:
        if meant in _OTHER_PLACES:
            raise UnknownOptionError(f"{problem}: {_OTHER_PLACES[meant]}")
    raise UnknownOptionError(f"{problem}.{nearest(snake, known)}")


def by_keyword(callee: str) -> str:
    """Return the advice to give the options of a function or class by their names, with an example."""
    if callee == "upsert_job_scheduler":
        return "options of its jobs belong into the template: upsert_job_scheduler(id, repeat, {'opts': {...}})"
    example = _EXAMPLES.get(callee, f"{callee}(name, url={_URL!r})")
    return f"options are keyword arguments: {example}"


def missing_attribute(owner: object, name: str, meant: str | None = None) -> AttributeError:
    """Return the error for an attribute that does not exist. A name of BullMQ or of Celery leads to the name here.

    Args:
        owner: the object.
        name: the name of the attribute.
        meant: what to use instead, if the owner knows it.
    """
    snake = _CAMEL.sub("_", name).lower()
    others = (call for call in _OTHER_CALLS.get(name, ()) if hasattr(type(owner), call.partition("(")[0]))
    if meant := meant or next(others, None):
        advice = f": use {meant}"
    elif snake != name and hasattr(type(owner), snake):
        advice = f": names are snake_case here, use {snake!r}"
    elif hasattr(type(owner), f"is_{name}"):
        advice = f": use 'is_{name}()'"
    else:
        advice = ""
    # With name and obj Python adds its own suggestion.
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{advice}", name=name, obj=owner)


def camel(name: str) -> str:
    """Return a snake_case name as BullMQ spells it: ``retry_jobs`` is ``retryJobs``."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def nearest(name: str, known: Collection[str], most: int | None = None) -> str:
    """Return a sentence that names the most similar known name, or all of them if none is similar.

    Args:
        name: the name that does not exist.
        known: the names that exist.
        most: at most that many of them are named; None names all.
    """
    if not known:
        return " There are none."
    # Imported here, since only errors need it.
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=_SIMILAR)
    if near:
        return f" Did you mean {near[0]!r}?"
    shown = sorted(known)[:most]
    further = f" and {len(known) - len(shown):,} more" if len(shown) < len(known) else ""
    return f" There are: {', '.join(shown)}{further}"
