"""One queue on two servers."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import BullrushError, EnqueueError, InvalidOptionError, NotDurableError
from bullrush.spark import drain, enqueue, enqueue_flows, progress, read_jobs
from bullrush.spark.address import Address
from bullrush.spark.tasks.add_rows import AddRows
from bullrush.spark.tasks.batch_counts import check_servers


@pytest.fixture(scope="module")
def other_url() -> Iterator[str]:
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@pytest.fixture
def urls(redis_url: str, other_url: str) -> list[str]:
    return [redis_url, other_url]


@pytest.fixture
def queues(queue_name: str, urls: list[str]) -> Iterator[list[Queue]]:
    with Queue(queue_name, url=urls[0]) as one, Queue(queue_name, url=urls[1]) as two:
        yield [one, two]


def waiting(queues: list[Queue]) -> list[int]:
    return [queue.get_waiting_count() for queue in queues]


@pytest.mark.spark
def test_rows_go_to_both_servers_once_and_results_name_the_server(
    spark: SparkSession, queues: list[Queue], queue_name: str, urls: list[str]
) -> None:
    rows = spark.range(0, 600, 1, 2).selectExpr("id % 300 AS n")  # each row twice
    with progress(queue_name, urls=urls, count="added", total=600) as bar:
        stats = enqueue(rows, queue_name, urls=urls, batch_id="day")
    assert (stats.added, stats.duplicates, bar.n) == (600, 0, 600)
    held = waiting(queues)
    assert sum(held) == 600 and min(held) > 200
    again = enqueue(rows.repartition(3), queue_name, urls=urls, batch_id="day")
    assert (again.added, again.duplicates) == (0, 600)

    results = drain(spark, queue_name, lambda job: job.data["n"], urls=urls, workers=2, returns="n long")
    servers = [Address.on_driver("q", url, None).server for url in urls]
    per_server = {row.server: row["count"] for row in results.groupBy("server").count().collect()}
    assert per_server == dict(zip(servers, held, strict=True))
    assert sorted(row.n for row in results.collect()) == sorted([*range(300)] * 2)
    jobs = read_jobs(spark, queue_name, urls=urls, states=["completed"], schema="jobId string")
    assert {row.server: row["count"] for row in jobs.groupBy("server").count().collect()} == per_server


@pytest.mark.spark
def test_children_are_where_their_parent_is(
    spark: SparkSession, queues: list[Queue], queue_name: str, urls: list[str]
) -> None:
    parents = spark.range(20).withColumnRenamed("id", "bill")
    enqueue(parents, queue_name, urls=urls, job_id="bill", delay=3_600_000)
    children = spark.range(200).select("id", f.concat(f.lit("bill-"), f.col("id") % 20).alias("bill"))
    assert enqueue(children, queue_name, urls=urls, parent="bill").added == 200, "no parent is missing"
    assert min(waiting(queues)) > 0
    # A flow goes where `enqueue` looks for its parent.
    more = spark.range(20, 40).withColumnRenamed("id", "bill")
    items = f"{queue_name}-items"
    stats = enqueue_flows(more, queue_name, by="bill", children_queue=items, parent_id="bill", urls=urls)
    assert (stats.parents, stats.children) == (20, 20)
    late = more.select(f.concat(f.lit("bill-"), "bill").alias("bill"))
    assert enqueue(late, queue_name, urls=urls, parent="bill").added == 20


@pytest.mark.spark
def test_another_list_of_servers_is_another_batch(
    spark: SparkSession, queues: list[Queue], queue_name: str, urls: list[str]
) -> None:
    enqueue(spark.range(20), queue_name, urls=urls, batch_id="day")
    before = waiting(queues)
    for other in ({"urls": urls[::-1]}, {"urls": [urls[0], "env:NOWHERE"]}, {"url": urls[1]}):
        with pytest.raises(EnqueueError, match="batch 'day' was begun with another list of servers"):
            enqueue(spark.range(20), queue_name, batch_id="day", **other)
    assert waiting(queues) == before
    made = enqueue(spark.range(20), queue_name, urls=urls, name="made")
    again = enqueue(spark.range(20), queue_name, urls=urls, name="made", batch_id=made.batch_id)
    assert (made.added, again.added) == (20, 0), "a made batch can be repeated, too"
    with pytest.raises(InvalidOptionError, match="2 servers need at least as many workers, not 1"):
        drain(spark, queue_name, lambda job: None, urls=urls, workers=1)
    flows: dict[str, Any] = {"by": "id", "children_queue": queue_name, "batch_id": "day"}
    with pytest.raises(EnqueueError, match="another list of servers.*batch_id='day'"):
        enqueue_flows(spark.range(3), queue_name, urls=urls[::-1], **flows)


def test_an_error_names_the_server_without_its_password(queue_name: str, redis_url: str, other_url: str) -> None:
    wrong = other_url.replace("redis://", "redis://user:secret@")
    addresses = Address.of_servers(queue_name, None, [redis_url, wrong], None)
    options = {"name": "x", "data": ["n"]}
    add = AddRows(addresses, ["n"], "day", "day", False, options)
    batch = pa.record_batch({"c0": [1, 2], "place": [0, 1]})
    server = other_url.removeprefix("redis://")
    for failing in (lambda: list(add(iter([batch]))), lambda: check_servers(addresses, "new")):
        with pytest.raises(BullrushError) as raised:
            failing()
        assert f"(server {server})" in str(raised.value)
        assert "secret" not in str(raised.value)


def test_a_batch_that_was_begun_on_one_server_stays_there(queue_name: str, urls: list[str]) -> None:
    (alone,) = Address.of_servers(queue_name, urls[0], None, None)
    check_servers([alone], "day")
    batch = pa.record_batch({"c0": [1, 2]})
    list(AddRows([alone], ["n"], "day", "day", False, {"name": "x", "data": ["n"]})(iter([batch])))
    check_servers([alone], "day")
    with pytest.raises(InvalidOptionError, match="was its only one"):
        check_servers(Address.of_servers(queue_name, None, urls, None), "day")


def test_wrong_lists_are_refused(queue_name: str, redis_url: str) -> None:
    wrong: list[dict[str, Any]] = [
        {"url": redis_url, "urls": [redis_url]},
        {"url": None, "urls": []},
        {"url": None, "urls": redis_url},
        {"url": None, "urls": [redis_url, redis_url.replace("redis://", "redis://u:p@")]},
    ]
    for given in wrong:
        with pytest.raises(InvalidOptionError):
            Address.of_servers(queue_name, prefix=None, **given)


def test_a_task_whose_jobs_are_not_durable_fails(queue_name: str, urls: list[str]) -> None:
    """Neither server has a replica or an append-only file."""
    (alone,) = Address.of_servers(queue_name, urls[0], None, None)
    options = {"name": "x", "data": ["n"]}
    add = AddRows([alone], ["n"], "day", "day", False, options, durable=True)
    with pytest.raises(NotDurableError, match="nothing was added"):
        list(add(iter([pa.record_batch({"c0": [1, 2]})])))
