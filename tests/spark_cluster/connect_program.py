"""A program for test_spark_connect: everything that needs no RDD, over a Connect server that it starts."""

import json
import os
import sys

from pyspark.sql import SparkSession, functions

from bullrush import Worker
from bullrush.spark import call, drain, enqueue, enqueue_flows, progress, read_jobs
from bullrush.spark.java import use_java


def main() -> None:
    name, url = sys.argv[1:]
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    report = {"session": type(spark).__module__}
    frame = spark.range(0, 1_000, 1, 4).withColumn("kind", functions.when(functions.col("id") < 10, "a").otherwise("b"))
    with progress(name, url=url, count="added", total=1_000) as bar:
        stats = enqueue(frame, name, url=url, name="kind", data=["id"], job_id="id")
    report["added"], report["bar"] = stats.added, bar.n
    with progress(name, url=url) as bar:
        results = drain(spark, name, lambda job: {"n": job.data["id"] * 2}, url=url, workers=2, returns="n long")
    report["finished"] = bar.n
    report["results"] = sorted(row.n for row in results.collect())
    report["states"] = {row.state: row["count"] for row in results.groupBy("state").count().collect()}
    jobs = read_jobs(spark, name, url=url, schema="state string, data struct<id: long>, returnvalue struct<n: long>")
    report["read"] = sorted([row.state, row.data.id, row.returnvalue.n] for row in jobs.collect())
    report |= calls(spark, name, url) | servers(spark, name, url) | source(spark, name, url)
    print(json.dumps(report))
    spark.stop()


def calls(spark: SparkSession, name: str, url: str) -> dict[str, object]:
    with Worker(f"{name}-c", lambda job: {"double": job.data["id"] * 2}, url=url, autorun=True):
        answers = call(spark.range(100), f"{name}-c", url=url, returns="double long").collect()
    flows = enqueue_flows(
        spark.range(100).withColumn("customer", functions.col("id") % 5),
        f"{name}-p",
        by="customer",
        children_queue=f"{name}-k",
        url=url,
    )
    return {"answers": sorted([row.id, row.double] for row in answers), "flows": [flows.parents, flows.children]}


def servers(spark: SparkSession, name: str, url: str) -> dict[str, object]:
    urls = [url, url.rpartition("/")[0] + "/1"]
    added = enqueue(spark.range(100), f"{name}-s", urls=urls, job_id="id").added
    rows = drain(spark, f"{name}-s", lambda job: None, urls=urls, workers=2)
    return {"over servers": [added, rows.count(), rows.select("server").distinct().count()]}


def source(spark: SparkSession, name: str, url: str) -> dict[str, object]:
    spark.range(100).write.format("bullmq").option("url", url).mode("append").save(f"{name}-w")
    waiting = spark.read.format("bullmq").option("url", url).option("states", "waiting").load(f"{name}-w")
    return {"source": waiting.count()}


if __name__ == "__main__":
    main()
