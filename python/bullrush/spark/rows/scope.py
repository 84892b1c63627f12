"""The batch of an `enqueue`: which calls are repetitions of one another."""

from __future__ import annotations

import re
import threading
import uuid
from typing import Any, Final, NamedTuple

from bullrush.extending import check_batch_id
from bullrush.spark.address import Address

_OWN: Final = re.compile(r"auto-[0-9a-f]{16}")

_lock: Final = threading.Lock()
#: Streaming query and queue -> its current micro-batch, and how many calls that has made.
_calls: Final[dict[tuple[str, str, str], tuple[tuple[str | None, ...], int]]] = {}


class Scope(NamedTuple):
    """The batch of one call.

    Attributes:
        batch_id: the id of the batch.
        fresh: the id was made for this call, so that nobody has used it before.
        by_partition: the ids of jobs have the number of the partition.
        in_stream: the call is part of a micro-batch, so that Spark repeats it.
    """

    batch_id: str
    fresh: bool
    by_partition: bool
    in_stream: bool = False


def scope_of(df: Any, address: Address, batch_id: str | None) -> Scope:
    """Return the batch of a call: the given one, that of a streaming micro-batch, or a new one.

    Raises:
        InvalidOptionError: the given id cannot be used.
    """
    if batch_id is not None:
        return Scope(check_batch_id(batch_id), fresh=False, by_partition=bool(_OWN.fullmatch(batch_id)))
    if micro_batch := _micro_batch(df, address):
        return Scope(micro_batch, fresh=False, by_partition=False, in_stream=True)
    return Scope(f"auto-{uuid.uuid4().hex[:16]}", fresh=True, by_partition=True)


def _micro_batch(df: Any, address: Address) -> str | None:
    """Return the ids of the streaming query and of the micro-batch, and the number of this call; None outside of one.

    Calls are counted per queue. A replay of the micro-batch makes the same calls, so they get the same numbers.
    """
    try:
        read = df.sparkSession.sparkContext.getLocalProperty
    except Exception:  # Spark Connect has no context, and says so in another way in each version
        return None
    query, batch = read("sql.streaming.queryId"), read("streaming.sql.batchId")
    if not query or not batch:
        return None
    # The id of Spark's execution tells a replay in the same process from a second call.
    current = (batch, read("spark.sql.execution.root.id") or read("spark.sql.execution.id"))
    key = (query, address.prefix, address.name)
    with _lock:
        known, calls = _calls.get(key, (None, 0))
        number = calls if known == current else 0
        _calls[key] = (current, number + 1)
    return f"{query}.{batch}.{number}"
