"""The options of the data source: their names, their values, and what they are for. Nothing here asks Redis."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from bullrush.errors import InvalidOptionError, UnknownOptionError
from bullrush.extending import FINISHED, STATES, check_prefix, check_queue_name, nearest
from bullrush.spark.address import Address
from bullrush.spark.source import values

Use = Literal["write", "streamWrite", "read", "readStream"]


class _Option(NamedTuple):
    read: values.Reader
    uses: tuple[Use, ...]


_ALL: Final[tuple[Use, ...]] = ("write", "streamWrite", "read", "readStream")
_WRITES: Final[tuple[Use, ...]] = ("write", "streamWrite")
_READS: Final[tuple[Use, ...]] = ("read", "readStream")

_OPTIONS: Final[dict[str, _Option]] = {
    "url": _Option(values.text, _ALL),
    "queue": _Option(values.text, _ALL),
    "prefix": _Option(values.text, _ALL),
    "name": _Option(lambda _, given: given, _WRITES),
    "nameColumn": _Option(values.text, _WRITES),
    "jobIdColumn": _Option(values.text, _WRITES),
    "dataColumns": _Option(values.columns, _WRITES),
    "opts": _Option(values.json_object, _WRITES),
    "optsColumn": _Option(values.text, _WRITES),
    "priorityColumn": _Option(values.text, _WRITES),
    "delayColumn": _Option(values.text, _WRITES),
    "parentColumn": _Option(values.text, _WRITES),
    "longsAsStrings": _Option(values.flag, _WRITES),
    "onInvalidRow": _Option(values.choice("fail", "skip"), _WRITES),
    "onOom": _Option(values.choice("fail", "wait"), _WRITES),
    "maxWaiting": _Option(values.whole(1), _WRITES),
    "batchId": _Option(values.text, ("write",)),
    "states": _Option(values.words(*STATES), _READS),
    "numPartitions": _Option(values.whole(1), _READS),
    "finishedAfter": _Option(values.moment, ("read",)),
    "processedBy": _Option(values.text, ("read",)),
    "source": _Option(values.choice("finished", "events"), ("readStream",)),
    "startingOffsets": _Option(values.text, ("readStream",)),
    "maxRowsPerTrigger": _Option(values.whole(1), ("readStream",)),
    "failOnDataLoss": _Option(values.flag, ("readStream",)),
    "lagMs": _Option(values.whole(0), ("readStream",)),
}
_CANONICAL: Final = {name.lower(): name for name in _OPTIONS}
_USE_WORDS: Final[dict[Use, str]] = {
    "write": "df.write",
    "streamWrite": "df.writeStream",
    "read": "spark.read",
    "readStream": "spark.readStream",
}
#: Spark gives the options of a table in its catalog to no Python data source.
_NO_TABLES: Final = (
    "Spark loses the options of CREATE TABLE for a Python data source: write CREATE TEMPORARY VIEW name (columns) "
    "USING bullmq OPTIONS (url '...', queue '...') instead"
)
#: What Spark itself puts among the options.
_OF_SPARK: Final = frozenset({"path", "checkpointlocation"})


@dataclass(frozen=True)
class WriteOptions:
    """How rows become jobs; see `bullrush.arrow.ArrowWriter`."""

    address: Address
    name: str | None = None
    name_column: str | None = None
    job_id_column: str | None = None
    data_columns: tuple[str, ...] | None = None
    opts: dict[str, Any] | None = None
    opts_column: str | None = None
    priority_column: str | None = None
    delay_column: str | None = None
    parent_column: str | None = None
    longs_as_strings: bool = False
    on_invalid_row: Literal["fail", "skip"] = "fail"
    on_oom: Literal["fail", "wait"] = "fail"
    max_waiting: int | None = None
    batch_id: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """Which jobs a table has."""

    address: Address
    states: tuple[str, ...] = tuple(STATES)
    num_partitions: int = 8
    finished_after: int | None = None
    processed_by: str | None = None


@dataclass(frozen=True)
class StreamOptions:
    """What a stream reads, and how much at a time.

    Attributes:
        address: the queue.
        source: ``finished`` jobs, or the entries of the queue's stream of ``events``.
        states: of ``finished``: which jobs.
        num_partitions: at most how many tasks read one micro-batch.
        starting_offsets: ``earliest``, ``latest`` or an offset as JSON.
        max_rows_per_trigger: at most how many rows a micro-batch has.
        fail_on_data_loss: whether rows that were missed, or are gone, are an error.
        lag_ms: how far behind Redis' clock the stream stays, for workers whose clocks are slow.
    """

    address: Address
    source: Literal["finished", "events"] = "finished"
    states: tuple[str, ...] = FINISHED
    num_partitions: int = 8
    starting_offsets: str = "earliest"
    max_rows_per_trigger: int | None = None
    fail_on_data_loss: bool = True
    lag_ms: int = 2_000


def read_write_options(given: Mapping[str, str], use: Literal["write", "streamWrite"]) -> WriteOptions:
    """Return the options of a batch write, or of a streaming query that writes.

    Raises:
        InvalidOptionError: an option is unknown, missing, wrong, or excludes another one.
    """
    options = WriteOptions(_address(given), **_values(given, use))
    if options.name is not None and options.name_column is not None:
        raise InvalidOptionError("give name or nameColumn, not both")
    return options


def read_read_options(given: Mapping[str, str]) -> ReadOptions:
    """Return the options of a batch read.

    Raises:
        InvalidOptionError: an option is unknown, missing or wrong.
    """
    options = ReadOptions(_address(given), **_values(given, "read"))
    if options.finished_after is not None and not set(options.states) <= set(FINISHED):
        if "states" in _named(given):
            raise InvalidOptionError("finishedAfter is for states='completed', 'failed' or 'completed,failed'")
        options = replace(options, states=FINISHED)
    return options


def read_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Return the options of a streaming query that reads.

    Raises:
        InvalidOptionError: an option is unknown, missing, wrong, or excludes another one.
    """
    options = StreamOptions(_address(given), **_values(given, "readStream"))
    if options.source == "events":
        if wrong := {"states", "lagMs", "numPartitions"} & set(_named(given)):
            raise InvalidOptionError(f"option {min(wrong)!r} is for source='finished'")
    elif not set(options.states) <= set(FINISHED):
        raise InvalidOptionError("a stream reads finished jobs: states is 'completed', 'failed' or 'completed,failed'")
    return options


def read_source(given: Mapping[str, str]) -> str:
    """Return the option ``source``, by which the columns of a table are known.

    Raises:
        InvalidOptionError: an option is unknown, or this one is wrong.
    """
    named = _named(given)
    return str(_OPTIONS["source"].read("source", named.get("source", "finished")))


def _named(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options under their names as documented.

    Raises:
        UnknownOptionError: there is no such option; the message names the most similar one.
    """
    named = {}
    for key, value in given.items():
        lower = key.lower()
        if lower == "provider":  # what Spark adds for CREATE TABLE
            raise InvalidOptionError(_NO_TABLES)
        if lower in _OF_SPARK:
            continue
        if lower not in _CANONICAL:
            raise UnknownOptionError(f"format 'bullmq' has no option {key!r}.{nearest(key, _OPTIONS)}")
        named[_CANONICAL[lower]] = value
    return named


def _values(given: Mapping[str, str], use: Use) -> dict[str, Any]:
    found = {}
    for name, value in _named(given).items():
        option = _OPTIONS[name]
        if use not in option.uses:
            uses = " and ".join(_USE_WORDS[other] for other in option.uses)
            raise InvalidOptionError(f"option {name!r} is for {uses}, not for {_USE_WORDS[use]}")
        read = option.read(name, value)
        if name not in {"url", "queue", "prefix"}:
            found[_snake(name)] = read
    return found


def _address(given: Mapping[str, str]) -> Address:
    named = _named(given)
    path = {key.lower(): value for key, value in given.items()}.get("path")
    queue = named.get("queue", path)
    if not queue:
        raise InvalidOptionError(
            f"option 'queue' is missing: the name of the queue. {'' if given else _NO_TABLES}".rstrip()
        )
    if path is not None and path != queue:
        raise InvalidOptionError(f"option 'queue' is {queue!r} and the path is {path!r}: give one of them")
    url = named.get("url")
    found = url or os.environ.get("BULLRUSH_URL") or os.environ.get("REDIS_URL") or ""
    if found.startswith("embedded:"):
        # This code runs in a process that Spark ends when it likes, and the server would end with it.
        raise InvalidOptionError(
            "a data source cannot start a Redis server: start one with bullrush.embedded.EmbeddedRedis() "
            "and give its url"
        )
    return Address.on_driver(check_queue_name(queue), url, check_prefix(named.get("prefix", "bull")))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
