"""Jobs from Arrow data."""

from collections.abc import Sequence
from typing import final

@final
class AutoIds:
    """Gives rows the ids ``<scope>.<xxh3-128 of the row's JSON>.<k>``, which depend on content and not on row order.

    ``k`` counts equal rows, over all calls that get this object: keep one for all batches of one partition.
    """

    def __new__(cls, scope: str) -> AutoIds: ...

def rows_as_json(source: object, columns: Sequence[str] | None) -> list[bytes]:
    """Return each row of Arrow data as the JSON that `CoreQueue.add_arrow` stores; None is all columns.

    Raises:
        TypeError: it is not Arrow data.
        InvalidOptionError: a column is missing or has a type that JSON cannot hold.
    """
