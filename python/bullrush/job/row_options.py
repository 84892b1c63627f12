"""The options of jobs that come from rows: those that all rows have, and those of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import orjson

from bullrush._core import AutoIds, RowPlan
from bullrush.errors import InvalidOptionError
from bullrush.job.option_compiler import CompiledOptions, OptionCompiler
from bullrush.job.options import JobOptions
from bullrush.values.encoding import encode


class RowOptions:
    """Compiles the options of one row, with the checks and the stored form of `Queue.add`.

    The options of the row take precedence over those of all rows. Its priority, parent and delay come from columns, and
    take precedence over both.
    """

    def __init__(self, compiler: OptionCompiler, options: Mapping[str, object], queue: str) -> None:
        """Take the default options, those of all rows, and the queue with its prefix."""
        compiled, own_id = compiler.compile(options)
        if own_id is not None:
            raise InvalidOptionError("The ids of rows come from a column: use job_id=, not the option job_id")
        self._compiler = compiler
        self._options = options
        self._compiled = compiled
        self._queue = queue

    @classmethod
    def of(cls, options: JobOptions | None, queue: str) -> RowOptions:
        """Return the options of rows without defaults."""
        return cls(OptionCompiler(), options or {}, queue)

    def __call__(
        self, opts: str | None, priority: int | None, parent: tuple[str, str | None] | None, delayed: bool
    ) -> tuple[CompiledOptions, None]:
        """Return the compiled options of a row, and no id.

        Args:
            opts: a JSON object.
            priority: the row's priority.
            parent: the id and the queue of the row's parent; None is the queue of the job.
            delayed: the row has a delay, which the caller adds at the end.

        Raises:
            UnknownOptionError, InvalidOptionError: an option does not exist or has an invalid value.
        """
        if opts is None and priority is None and parent is None and not delayed:
            return self._compiled, None
        given = {} if opts is None else _read(opts)
        if priority is not None:
            given["priority"] = priority
        if parent is not None:
            job_id, queue = parent
            given["parent"] = {"id": job_id, "queue": queue or self._queue}
        if delayed:
            given["delay"] = None
        return self._compiler.compile({**self._options, **given})[0], None


class RowColumns(TypedDict, total=False):
    """Which columns the rows have, and what all of them have in common; in the form that the core takes.

    Attributes:
        name: the name of all jobs.
        name_column: instead of it, the column with the names.
        data: the columns that become the data; all by default.
        id_column: the column with the ids; without it they are Redis' counter, or made by ``auto_ids``.
        batch_id: Redis counts the jobs that it really adds under this id.
        opts_column: the column with the options, as JSON.
        priority_column: the column with the priorities.
        delay_column: the column with the delays.
        parent_column: the column with the parents.
        longs_as_strings: whole numbers become texts in the data.
        skip_invalid: rows that cannot be jobs are left out.
        wait_for_memory: a call waits while the memory of the server is full.
    """

    name: str | None
    name_column: str | None
    data: Sequence[str] | None
    id_column: str | None
    batch_id: str | None
    opts_column: str | None
    priority_column: str | None
    delay_column: str | None
    parent_column: str | None
    longs_as_strings: bool
    skip_invalid: bool
    wait_for_memory: bool


def row_plan(options: RowOptions, columns: RowColumns, auto_ids: AutoIds | None = None) -> RowPlan:
    """Return the plan by which the core makes jobs of rows."""
    return RowPlan(options, encode(columns, "columns"), auto_ids)


def _read(opts: str) -> dict[str, object]:
    try:
        given = orjson.loads(opts)
    except orjson.JSONDecodeError as error:
        raise InvalidOptionError(f"The options of a row are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidOptionError(f"The options of a row must be an object, not {opts[:100]}")
    if given.get("job_id") is not None:
        raise InvalidOptionError("The ids of rows come from a column: use job_id=, not the option job_id")
    # A struct has all members for all rows; those that are null are not given.
    return {name: value for name, value in given.items() if value is not None}
