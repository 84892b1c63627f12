"""What is refused while Spark plans a query, without Spark: no task has started then."""

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
    YearMonthIntervalType,
)

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.spark.source import options
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import read_write_options
from bullrush.spark.source.rows import add_rows
from bullrush.spark.source.source import DefaultSource

NOBODY = "redis://127.0.0.1:1/0"
ROWS = StructType().add("id", LongType()).add("text", StringType())


def source(url: str, **given: str) -> DefaultSource:
    return DefaultSource({"url": url, "queue": "planned", **given})


@pytest.mark.parametrize(
    ("schema", "given", "sentence"),
    [
        (StructType(), {}, "there are no columns, and Spark hands over no rows without any"),
        (ROWS, {"nameColumn": "id"}, "the column 'id' must hold strings, not bigint"),
        (ROWS, {"batchId": "a:b"}, "batch_id cannot contain a colon"),
        (ROWS, {"opts": '{"jobId": "x"}'}, "not the option job_id"),
        (ROWS, {"opts": '{"removeOnComplete":true,"remove_on_complete":false}'}, "which are the same option"),
        (ROWS, {"url": "http://127.0.0.1:1"}, "must start with redis://"),
        (StructType().add("m", MapType(LongType(), StringType())), {}, "has keys of type bigint"),
        (
            StructType().add("id", LongType()).add("months", YearMonthIntervalType()),
            {"dataColumns": "id"},
            "'months' is an interval of years",
        ),
    ],
)
def test_a_write_that_cannot_succeed_is_refused(schema: StructType, given: dict[str, str], sentence: str) -> None:
    for make in ("writer", "streamWriter"):
        if make == "writer" or "batchId" not in given:
            with pytest.raises(InvalidOptionError, match=sentence):
                getattr(source(**{"url": NOBODY, **given}), make)(schema, False)


def test_a_write_to_no_server_is_reported_in_seconds_and_says_nothing_of_rows_in_the_queue() -> None:
    started = time.monotonic()
    with pytest.raises(DataSourceError, match="cannot reach Redis at 127.0.0.1:1") as caught:
        source(NOBODY).writer(ROWS, False)
    assert time.monotonic() - started < 30
    assert "Some rows" not in str(caught.value)


def test_a_wrong_password_is_reported_at_once() -> None:
    with EmbeddedRedis(port=0, password="") as server:
        with Queue("planned", url=server.url) as queue:
            queue.core.commands([["CONFIG", "SET", "requirepass", "right"]]).wait()
        for make in ("writer", "streamWriter"):
            with pytest.raises(DataSourceError, match="WRONGPASS") as caught:
                getattr(source(server.url.replace("redis://", "redis://:pass-word@")), make)(ROWS, False)
            assert "pass-word" not in str(caught.value)
            assert "Some rows" not in str(caught.value)


def test_a_micro_batch_is_planned_also_while_redis_is_away() -> None:
    assert source(NOBODY).streamWriter(ROWS, False)


def test_a_url_that_only_executors_know_is_not_tried_by_the_driver() -> None:
    assert source("env:NO_SUCH_VARIABLE").writer(ROWS, False)


def test_only_rows_that_may_be_in_the_queue_are_mentioned(redis_url: str, queue_name: str) -> None:
    rows = pa.RecordBatch.from_pydict({"id": ["a", None]})
    for given, said in [
        ({"jobIdColumn": "id"}, "Some rows may be in the queue.*'day'.*correct the rows, or leave wrong ones out"),
        ({"jobIdColumn": "id", "url": "http://x"}, "must start with redis://"),
    ]:
        options = read_write_options({"url": redis_url, "queue": queue_name, **given}, "write")
        with pytest.raises(BullrushError, match="(?s)" + said) as caught:
            add_rows(options, [rows], "day.0", "day")
        assert ("Some rows" in str(caught.value)) == ("url" not in given)


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (StructType().add("data", VariantType()), "data cannot be read from JSON"),
        (StructType().add("failedReason", StringType(), False), "'failedReason' has a NOT NULL"),
        (StructType().add("data", StructType().add("n", LongType(), False)), "'data' has a NOT NULL"),
        (StructType().add("id", StringType()), "no column"),
    ],
)
def test_a_schema_that_no_task_could_fill_is_refused(schema: StructType, sentence: str) -> None:
    for make in ("reader", "streamReader"):
        with pytest.raises(InvalidOptionError, match=sentence):
            getattr(source(NOBODY), make)(schema)


def test_a_column_that_every_job_has_may_be_not_null() -> None:
    assert source(NOBODY).reader(StructType().add("jobId", StringType(), False).add("timestamp", TimestampType()))


def test_create_table_is_refused_with_what_works_instead() -> None:
    for given in ({"provider": "bullmq", "url": NOBODY, "queue": "q"}, {}):
        with pytest.raises(InvalidOptionError, match="CREATE TEMPORARY VIEW"):
            DefaultSource(given).schema() if given else DefaultSource(given).reader(ROWS)


def test_the_guide_has_every_option() -> None:
    guide = (Path(__file__).parents[4] / "docs/spark-source.md").read_text()
    table = "".join(re.findall(r"^\| (`[^|]*)\|", guide.partition("## Options")[2], re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", table)) == set(options._OPTIONS) | {"checkpointLocation"}
