import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush import FlowProducer, Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.spark import enqueue_flows
from bullrush.spark.address import Address
from bullrush.spark.tasks.add_flows import AddFlows, Side


def adding(queue: Queue, url: str, **children: Any) -> AddFlows:
    side = {"name": None, "name_column": None, "data": ["n"], "job_id": None, "opts": {}}
    parents = Side(queue.name, "bill", None, ["customer"], None, {})
    made = Side(**{"queue": f"{queue.name}-items", **side, **children})
    return AddFlows([Address.on_driver(queue.name, url, None)], ["customer", "n"], ["customer"], parents, made, "day")


def batch(*rows: tuple[str | None, int]) -> pa.RecordBatch:
    customers, numbers = zip(*rows, strict=True)
    return pa.record_batch({"c0": pa.array(customers, pa.string()), "c1": pa.array(numbers, pa.int64())})


def test_each_group_is_a_parent_with_a_child_per_row(queue: Queue, redis_url: str) -> None:
    # A group goes on in the next batch; a group of nulls is one, too.
    batches = [batch((None, 1), ("a", 1), ("a", 2)), batch(("a", 3), ("b", 4))]
    added = adding(queue, redis_url).add(batches)
    assert (added.parents, added.children, added.duplicates) == (3, 5, 0)
    with FlowProducer(url=redis_url) as flows:
        trees = {}
        for job in queue.get_waiting_children():
            tree = flows.get_flow(id=job.id, queue_name=queue.name)
            assert tree is not None and tree.job.name == "bill"
            trees[job.data["customer"]] = sorted(child.job.data["n"] for child in tree.children)
    assert trees == {None: [1], "a": [1, 2, 3], "b": [4]}


def test_a_repeated_task_adds_nothing_in_any_order_and_equal_rows_are_kept(queue: Queue, redis_url: str) -> None:
    add = pickle.loads(pickle.dumps(adding(queue, redis_url)))
    added = add.add([batch(("a", 1), ("a", 2), ("a", 1))])
    assert (added.parents, added.children, added.duplicates) == (1, 3, 0)
    again = add.add([batch(("a", 2)), batch(("a", 1), ("a", 1))])
    assert (again.parents, again.children, again.duplicates) == (0, 0, 4)


def test_ids_from_a_column_are_those_of_enqueue(queue: Queue, redis_url: str) -> None:
    adding(queue, redis_url, job_id="n").add([batch(("a", 7))])
    with Queue(f"{queue.name}-items", url=redis_url) as items:
        assert [job.id for job in items.get_waiting()] == ["n-7"]


def test_a_group_with_two_parent_ids_is_refused(queue: Queue, redis_url: str) -> None:
    flows = adding(queue, redis_url)
    flows = replace(flows, parents=replace(flows.parents, job_id="n"))
    with pytest.raises(InvalidOptionError, match=r'group {"customer":"a"} has two parent ids: \'n-1\' and \'n-2\''):
        flows.add([batch(("a", 1)), batch(("a", 2))])
    assert queue.get_waiting_children_count() == 0


def test_a_group_that_is_too_large_for_one_step_is_refused(queue: Queue, redis_url: str) -> None:
    large = pa.record_batch({"c0": ["a"] * 20_000, "c1": list(range(20_000))})
    with pytest.raises(InvalidOptionError, match=r'group {"customer":"a"} has more than 19,999 rows'):
        adding(queue, redis_url).add([large])
    assert queue.get_waiting_children_count() == 0


@pytest.mark.spark
def test_flows_of_a_frame_run_and_a_repeated_call_adds_nothing(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    items = f"{queue.name}-items"
    orders = spark.range(0, 120, 1, 3).select((f.col("id") % 7).alias("cust.omer"), f.col("id").alias("n"))

    def add(partitions: int, **options: Any) -> tuple[int, int, int]:
        rows = orders.repartition(partitions)
        given: dict[str, Any] = {"by": "cust.omer", "children_queue": items, "url": redis_url, "batch_id": "day"}
        stats = enqueue_flows(rows, queue.name, **given, **options)
        assert stats.batch_id == "day"
        return stats.parents, stats.children, stats.duplicates

    assert add(1, child_data=["n"]) == (7, 120, 0)
    assert add(2, child_data=["n"]) == (0, 0, 127), "whatever the partitions"
    with Worker(items, lambda job: job.data["n"], url=redis_url, concurrency=4) as children:
        children.run(until="drained")
    totals: dict[int, int] = {}

    def total(job: Any) -> None:
        totals[job.data["cust.omer"]] = sum(job.get_children_values().values())

    with Worker(queue.name, total, url=redis_url) as parents:
        parents.run(until="drained")
    assert totals == {customer: sum(range(customer, 120, 7)) for customer in range(7)}


@pytest.mark.spark
def test_parent_ids_that_would_merge_or_split_groups_are_refused(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    rows = spark.range(8).select(
        (f.col("id") % 4).alias("by"), (f.col("id") % 2).alias("two"), f.col("id").alias("one")
    )
    given: dict[str, Any] = {"by": "by", "children_queue": queue.name, "url": redis_url}
    with pytest.raises(InvalidOptionError, match=r"2 groups have the parent id 'two-[01]' of 'two'"):
        enqueue_flows(rows, queue.name, parent_id="two", **given)
    with pytest.raises(InvalidOptionError, match=r"A group has two parent ids in 'one': 'one-\d' and 'one-\d'"):
        enqueue_flows(rows, queue.name, parent_id="one", **given)
    assert queue.get_waiting_children_count() == 0
    fine = rows.withColumn("mine", f.concat(f.lit("p"), "by"))
    stats = enqueue_flows(fine, queue.name, parent_id="mine", **given)
    assert (stats.parents, stats.children) == (4, 8)
    assert {job.id for job in queue.get_waiting_children()} == {"p0", "p1", "p2", "p3"}


@pytest.mark.spark
def test_wrong_arguments_are_refused_before_anything_is_written(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    rows = spark.range(3).withColumn("weight", f.lit(0.5))
    wrong: list[dict[str, Any]] = [
        {"by": "customer"},
        {"by": []},
        {"by": "weight"},
        {"child_data": "id"},
        {"parent_id": "order"},
        {"parent_opts": {"job_id": "x"}},
        {"parent_opts": {"deduplication": {"id": "x"}}},
        {"child_opts": {"priority": -1}},
    ]
    for options in wrong:
        with pytest.raises(InvalidOptionError):
            enqueue_flows(rows, queue.name, **{"by": "id", "children_queue": queue.name, "url": redis_url, **options})
    with pytest.raises(ValueError, match="colon|:"):
        enqueue_flows(rows, queue.name, by="id", children_queue="a:b", url=redis_url)
    assert queue.get_waiting_children_count() == 0
