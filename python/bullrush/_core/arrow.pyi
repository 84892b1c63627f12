"""Jobs from Arrow data, and jobs as Arrow data."""

from collections.abc import Callable, Sequence
from typing import Any, final

from .pending import Pending
from .queue import CoreQueue

@final
class AutoIds:
    """Gives rows the ids ``<scope>.<xxh3-128 of the row's JSON>.<k>``, which depend on content and not on row order.

    ``k`` counts equal rows, over all calls that get this object: keep one for all batches of one partition.
    """

    def __new__(cls, scope: str) -> AutoIds: ...

@final
class CoreReader:
    """Reads jobs of a queue as the columns of one schema (``__arrow_c_schema__``).

    ``returns``: the columns that come from ``returnvalue``.
    """

    def __new__(cls, queue: CoreQueue, schema: object, returns: object | None, skip_removed: bool) -> CoreReader: ...
    def run(self, run: str, start: int, stop: int | None) -> CoreReading: ...
    def ranks(self, state: str, start: int, stop: int | None) -> CoreReading: ...
    def scores(self, state: str, after: int | None, until: int | None) -> CoreReading: ...
    def jobs(self, ids: Sequence[str]) -> CoreReading: ...

@final
class CoreReading:
    """Jobs that are being read, for the process that began."""

    def next(self) -> Pending[CoreRows | None]:
        """Read the jobs of up to 5,000 ids; None at the end. Calls that overlap are served one after another."""

@final
class CoreRows:
    """Jobs that were read. They become Arrow data when somebody takes it."""

    def __len__(self) -> int: ...
    @property
    def removed(self) -> int:
        """How many of the ids had no job any more."""
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]: ...

def json_as_rows(texts: Sequence[bytes], schema: object) -> CoreRows:
    """Read JSON objects as one column ``data`` of structs. ``_corrupt`` has the texts that do not fit ``schema``.

    Raises:
        TypeError: it is not an Arrow schema.
        InvalidOptionError: a type cannot be read from JSON.
    """

def rows_as_json(source: object, columns: Sequence[str] | None) -> list[bytes]:
    """Return each row of Arrow data as the JSON that `CoreQueue.add_arrow` stores; None is all columns.

    Raises:
        TypeError: it is not Arrow data.
        InvalidOptionError: a column is missing or has a type that JSON cannot hold.
    """

@final
class RowPlan:
    """How the rows of Arrow data become jobs: one plan for all batches of a writer."""

    def __new__(
        cls,
        compile: Callable[[str | None, int | None, tuple[str, str | None] | None, bool], tuple[Any, str | None]],
        columns: bytes,
        auto_ids: AutoIds | None = None,
    ) -> RowPlan:
        """``compile(opts, priority, parent, delayed)`` returns ``CompiledOptions`` and None; equal calls are made once.

        ``columns``: a `bullrush.job.row_options.RowColumns`, as JSON.
        """
    @property
    def skipped(self) -> int:
        """How many rows were left out because they cannot be jobs."""
    def has_waited(self) -> bool:
        """Tell whether a call has waited for memory of the server since the last look."""
