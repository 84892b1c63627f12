"""Checking a new job, and encoding it in the form that is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_job_name

if TYPE_CHECKING:
    from bullrush import _core
    from bullrush.job.option_compiler import Link, OptionCompiler

#: A job in the form that the core takes, and its link, if it has one.
PreparedJob: TypeAlias = "tuple[_core.NewJob, Link | None]"


def prepare(
    compiler: OptionCompiler, name: object, data: JSON, options: Mapping[str, object], timestamp: int
) -> PreparedJob:
    """Return a new job in the form that the core takes. ``timestamp`` is the default time of the add.

    Raises:
        DataError: a part of the data is not JSON.
        InvalidOptionError: the name or an option cannot be used.
    """
    name = check_job_name(name)
    compiled, job_id = compiler.compile(options)
    stored, own_timestamp, delay, priority, lifo, size_limit, link = compiled
    encoded = encode(data, "data")
    if size_limit is not None and len(encoded) > size_limit:
        raise InvalidOptionError(f"The size of job {name} exceeds the limit {size_limit} bytes")
    return (name, encoded, stored, job_id, own_timestamp or timestamp, delay, priority, lifo), link
