"""The options of jobs that come from rows: those that all rows have, and those of each row."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.job.option_compiler import CompiledOptions, OptionCompiler
from bullrush.job.options import JobOptions


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
