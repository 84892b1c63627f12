"""Arrow types that JSON does not have."""

import json
from datetime import timedelta

import pyarrow as pa
import pytest

from bullrush import Queue
from bullrush.arrow import ArrowWriter
from bullrush.errors import InvalidOptionError


def data_of(queue: Queue, redis, rows: pa.Table, **options) -> list[str]:
    """Return the data of the jobs of some rows, as Redis has it."""
    with ArrowWriter(queue, **options) as writer:
        ids = writer.add(rows)
    return [redis.hget(queue.to_key(job_id), "data") for job_id in ids]


def test_long_integers_are_strings_on_request_also_inside_other_values(queue: Queue, redis) -> None:
    rows = pa.table(
        {
            "long": pa.array([2**53 + 1, None]),
            "unsigned": pa.array([2**64 - 1, 0], pa.uint64()),
            "int": pa.array([7, 8], pa.int32()),
            "list": [[2**60, None], []],
        }
    )
    assert data_of(queue, redis, rows, longs_as_strings=True) == [
        '{"long":"9007199254740993","unsigned":"18446744073709551615","int":7,"list":["1152921504606846976",null]}',
        '{"long":null,"unsigned":"0","int":8,"list":[]}',
    ]
    assert json.loads(data_of(queue, redis, rows)[0])["long"] == 2**53 + 1


def test_intervals_and_durations_are_iso_8601(queue: Queue, redis) -> None:
    interval = pa.array([(14, 25, 18_367_000_000_000), None], pa.month_day_nano_interval())
    duration = pa.array([timedelta(days=1, hours=2), None], pa.duration("us"))
    rows = pa.table({"interval": interval, "duration": duration})
    assert data_of(queue, redis, rows) == [
        '{"interval":"P1Y2M25DT5H6M7S","duration":"PT93600S"}',
        '{"interval":null,"duration":null}',
    ]


def test_a_variant_is_the_json_that_it_holds(queue: Queue, redis) -> None:
    value = {"value": b"\x02\x01\x00\x00\x02\x0c\x01", "metadata": b"\x01\x01\x00\x01a"}
    variant = pa.struct(
        [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]
    )
    rows = pa.table({"v": pa.array([value, None], variant), "list": pa.array([[value], []], pa.list_(variant))})
    assert data_of(queue, redis, rows) == ['{"v":{"a":1},"list":[{"a":1}]}', '{"v":null,"list":[]}']
    damaged = pa.table({"v": pa.array([{"value": b"\x18", "metadata": b""}], variant)})
    with pytest.raises(InvalidOptionError, match="VARIANT in row 0 cannot be read"):
        data_of(queue, redis, damaged)


def test_a_map_whose_keys_are_no_strings_is_refused_with_the_name_of_its_column(queue: Queue, redis) -> None:
    rows = pa.table({"m": pa.array([[(1, "a")]], pa.map_(pa.int32(), pa.string()))})
    with pytest.raises(InvalidOptionError, match='column "m" is a map with keys that are no strings'):
        data_of(queue, redis, rows)


def test_rows_without_columns_are_jobs_without_data(queue: Queue, redis) -> None:
    rows = pa.table({"x": [1, 2]})
    assert data_of(queue, redis, rows, data=[], id_scope="s") == ["{}", "{}"]
