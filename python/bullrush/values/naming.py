"""Checks and spelling of names: queues, jobs, ids, options.

Where BullMQ has a rule or an error text, it is the same here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final, NoReturn

from bullrush.errors import InvalidOptionError, QueueNameError, UnknownOptionError

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID_PARTS: Final = 3

#: The queue's own keys. A job with such an id would overwrite one of them.
RESERVED_IDS: Final = frozenset(
    [
        "id",
        "wait",
        "paused",
        "active",
        "prioritized",
        "pc",
        "delayed",
        "completed",
        "failed",
        "waiting-children",
        "stalled",
        "stalled-check",
        "limiter",
        "meta",
        "events",
        "marker",
        "repeat",
        "priority",
        "delay",
        "metrics",
        "de",
        "dn",
        "ext",
    ]
)
RESERVED_PREFIXES: Final = ("metrics:", "repeat:", "de:", "dn:", "ext:")


def check_unicode(what: str, text: str) -> str:
    """Return a text that is valid UTF-8.

    Raises:
        InvalidOptionError: it has a lone surrogate.
    """
    if not text.isascii() and _SURROGATE.search(text):
        raise InvalidOptionError(f"{what} has a lone surrogate, which is not valid UTF-8: {text!r}")
    return text


def check_queue_name(name: object) -> str:
    """Return the name of a queue.

    Raises:
        QueueNameError: it is empty, or has a colon, control characters or a lone surrogate.
    """
    if not isinstance(name, str) or not name:
        raise QueueNameError("Queue name must be provided")
    if ":" in name:
        raise QueueNameError("Queue name cannot contain :")
    if _CONTROL.search(name):
        raise QueueNameError(f"Queue name cannot contain control characters: {name!r}")
    if _SURROGATE.search(name):
        raise QueueNameError(f"Queue name cannot contain a lone surrogate: {name!r}")
    return name


def check_prefix(prefix: object) -> str:
    """Return the prefix of a queue's keys.

    Raises:
        InvalidOptionError: it is empty or has control characters.
    """
    if not isinstance(prefix, str) or not prefix or _CONTROL.search(prefix):
        raise InvalidOptionError(f"prefix must be a text without control characters, not {prefix!r}")
    return check_unicode("prefix", prefix)


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
        raise InvalidOptionError("Custom Id cannot be integers")
    if not isinstance(job_id, str):
        raise InvalidOptionError(f"Custom Id must be a str, not {type(job_id).__name__}")
    if job_id == "0" or job_id.startswith("0:"):
        raise InvalidOptionError("JobId cannot be '0' or start with 0:")
    if _INTEGER.fullmatch(job_id):
        raise InvalidOptionError("Custom Id cannot be integers")
    if ":" in job_id and job_id.count(":") + 1 != _ID_PARTS:
        raise InvalidOptionError("Custom Id cannot contain :")
    if job_id in RESERVED_IDS or job_id.startswith(RESERVED_PREFIXES):
        raise InvalidOptionError(f"Custom Id cannot be {job_id!r}: that key belongs to the queue")
    return check_unicode("Custom Id", job_id)


def check_known(given: Iterable[str], known: Collection[str], subject: str) -> None:
    """Refuse options that do not exist.

    Args:
        given: the names that the caller used.
        known: the names that exist.
        subject: what takes the options; the first words of the message.

    Raises:
        UnknownOptionError: a name does not exist.
    """
    for name in given:
        if name not in known:
            _raise_unknown(str(name), known, subject)


def _raise_unknown(name: str, known: Collection[str], subject: str) -> NoReturn:
    snake = _CAMEL.sub("_", name).lower()
    if snake in known:
        raise UnknownOptionError(f"{subject} has no option {name!r}: options are snake_case here, use {snake!r}")
    raise UnknownOptionError(f"{subject} has no option {name!r}.{nearest(snake, known)}")


def camel(name: str) -> str:
    """Return a snake_case name as BullMQ spells it: ``retry_jobs`` is ``retryJobs``."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def nearest(name: str, known: Collection[str]) -> str:
    """Return a sentence that names the most similar known name, or all of them if none is similar."""
    # Imported here, since only errors need it.
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(sorted(known))}"
