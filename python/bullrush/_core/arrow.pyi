"""Jobs from Arrow data."""

from typing import final

@final
class AutoIds:
    """Gives rows the ids ``<scope>.<xxh3-128 of the row's JSON>.<k>``, which depend on content and not on row order.

    ``k`` counts equal rows, over all calls that get this object: keep one for all batches of one partition.
    """

    def __new__(cls, scope: str) -> AutoIds: ...
