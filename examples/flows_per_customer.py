"""One invoice per customer: its parent job runs when the jobs of all its items are done.

Needs ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush.spark import drain, enqueue_flows
from bullrush.spark.java import use_java
from bullrush.url import resolve

URL = resolve("embedded://")  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"


def price(job):
    """Compute the price of one item; this runs on the executors."""
    return job.data["pieces"] * 3


def invoice(job):
    """Add up the prices of all items of a customer."""
    prices = job.get_children_values().values()
    return {"customer": job.data["customer"], "items": len(prices), "total": sum(prices)}


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

items = spark.range(300).select(
    (f.col("id") % 20).alias("customer"), f.col("id").alias("item"), f.lit(2).alias("pieces")
)
stats = enqueue_flows(
    items, "invoices", by="customer", children_queue="items", url=URL, child_data=["item", "pieces"], batch_id="2024-05"
)
print(f"{stats.parents} invoices with {stats.children} items")

drain(spark, "items", price, url=URL, workers=2)
invoices = drain(spark, "invoices", invoice, url=URL, workers=2, returns="customer long, items long, total long")
invoices.select("customer", "items", "total").orderBy("customer").show(3)

assert (stats.parents, stats.children, stats.duplicates) == (20, 300, 0)
assert {(row["items"], row["total"]) for row in invoices.collect()} == {(15, 90)}
assert invoices.count() == 20
