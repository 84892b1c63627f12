"""Reading jobs as Arrow batches, without a Python object per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bullrush import extending

if TYPE_CHECKING:
    import pyarrow

    from bullrush.queue import Queue


class ArrowReader:
    """Reads jobs of a queue as Arrow batches.

    The columns of ``schema`` are any of these, in any order. A removed job is a row with its id, the state ``removed``
    and nulls.

    ========================================  =============================================================
    column                                    type
    ========================================  =============================================================
    ``jobId, name, processedBy, parentKey``   string
    ``state``                                 string: that of the moment when the job is read
    ``data, returnvalue``                     string: the JSON; or struct, map, list, number...: read from it
    ``opts``                                  string: the JSON as it is stored
    ``timestamp, processedOn, finishedOn``    timestamp of ms or finer, or 64-bit number: ms since 1970
    ``delay``                                 64-bit number: ms
    ``priority, attemptsMade``                number of 32 or 64 bits
    ``attemptsStarted, stalledCounter``       number of 32 or 64 bits
    ``failedReason``                          string; a completed job has that of an earlier attempt
    ``result, error, attempts, ms``           ``returnvalue``; ``failedReason`` of a failed job; ``attemptsMade``;
                                              how long the last attempt took
    ``_corrupt``                              string: the JSON of which a part does not fit its type
    ========================================  =============================================================

    JSON is read as leniently as nothing gets lost: ``3.0`` is an integer, ``"12"`` is a number, a string column takes
    any value as its JSON, binary is base64, times are ISO 8601 or ms. A value that the type cannot hold exactly is
    null, and ``_corrupt`` has the text: ``3.5`` as an integer, ``2.555`` as decimal(10, 2), a time of day in a date.
    Floats take the nearest number that they have, up to the largest one.

    The ids are read in pages of 5,000 and the fields in pipelines of at most 500 commands, so Redis serves others in
    between; each job costs it about 1 to 3 µs. While a batch is used, the next one is fetched.

    Args:
        queue: the queue.
        schema: a `pyarrow.Schema`, or anything with ``__arrow_c_schema__``.
        returns: more columns, as a schema: the fields of the object in ``returnvalue``. A single one also takes a value
            that is no object.
        skip_removed: leave removed jobs out; `removed` counts them all the same.

    Attributes:
        removed: how many ids had no job any more, in all batches so far.

    Raises:
        InvalidOptionError: a column is unknown, or has a type that its values cannot have.
    """

    def __init__(self, queue: Queue, schema: object, *, returns: object = None, skip_removed: bool = False) -> None:
        self.removed: int = 0
        self._core = extending.CoreReader(queue.core, schema, returns, skip_removed)

    def run(self, run: str, start: int = 0, stop: int | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs that the workers of a run finished: places ``start`` to ``stop`` - 1 of its list.

        Args:
            run: the name of the run; see `WorkerOptions`.
            start: the first place; 0 is the job that was finished first.
            stop: the place after the last; None reads to the end of the list.

        Raises:
            InvalidOptionError: it is no name of a run, or a place is negative.
        """
        return self._batches(self._core.run(run, start, stop))

    def ranks(self, state: str, start: int = 0, stop: int | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of a state: those with the places ``start`` to ``stop`` - 1 of its list or sorted set.

        Jobs that change their state meanwhile may be read twice or not at all; see `scores` for finished jobs. Of the
        waiting jobs, the one that was added last has place 0; delayed jobs begin with the one that is due first.

        Args:
            state: waiting, paused, active, delayed, prioritized, waiting-children, completed or failed.
            start: the first place, from 0.
            stop: the place after the last; None reads to the end.

        Raises:
            InvalidOptionError: there is no such state, or a place is negative.
        """
        return self._batches(self._core.ranks(state, start, stop))

    def scores(self, state: str, after: int | None = None, until: int | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs that were finished at ``after < time <= until``, each once, in the order of that time.

        Args:
            state: completed or failed; or delayed, by the time when jobs are due.
            after: ms since 1970, not included; None reads from the first.
            until: ms since 1970, included; None reads to the last.

        Raises:
            InvalidOptionError: the jobs of this state have no time.
        """
        return self._batches(self._core.scores(state, after, until))

    def jobs(self, ids: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs with these ids, in this order.

        Args:
            ids: the ids.
        """
        return self._batches(self._core.jobs(list(ids)))

    def _batches(self, reading: extending.CoreReading) -> Iterator[Any]:
        # Imported here, since programs that only write need no pyarrow.
        import pyarrow as pa

        ahead = reading.next()
        while (rows := ahead.wait()) is not None:
            ahead = reading.next()
            self.removed += rows.removed
            batch = pa.record_batch(rows) if len(rows) else None
            # What Redis sent is freed before the batch is used, which may take long.
            del rows
            if batch is not None:
                yield batch
