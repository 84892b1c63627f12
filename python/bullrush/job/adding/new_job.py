"""Checking a new job, and encoding it in the form that is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from bullrush.errors import TooLargeError
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_job_name

if TYPE_CHECKING:
    from bullrush import _core
    from bullrush.job.option_compiler import Link, OptionCompiler

#: A job in the form that the core takes, and its link, if it has one.
PreparedJob: TypeAlias = "tuple[_core.NewJob, Link | None]"


def check_size(name: str, data: bytes, limit: int | None) -> None:
    """Check that the data of a job is not longer than its limit.

    Raises:
        TooLargeError: it is.
    """
    if limit is not None and len(data) > limit:
        raise TooLargeError(f"The size of job {name} exceeds the limit {limit} bytes")


def prepare(
    compiler: OptionCompiler, name: object, data: JSON, options: Mapping[str, object], timestamp: int
) -> PreparedJob:
    """Return a new job in the form that the core takes. ``timestamp`` is the default time of the add.

    Raises:
        DataError: a part of the data is not JSON.
        InvalidOptionError: the name or an option cannot be used.
        TooLargeError: the data is longer than the limit of the job or of its queue.
    """
    name = check_job_name(name)
    compiled, job_id = compiler.compile(options)
    stored, own_timestamp, delay, priority, lifo, size_limit, link = compiled
    encoded = encode(data, "data")
    check_size(name, encoded, size_limit)
    return (name, encoded, stored, job_id, own_timestamp or timestamp, delay, priority, lifo), link
