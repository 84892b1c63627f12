"""Rows ask a service that is no part of Spark, and get its answers: here a Python worker, it may be a Node service.

Needs ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import sys

from pyspark.sql import SparkSession

from bullrush import Job, Worker
from bullrush.spark import call
from bullrush.spark.java import use_java
from bullrush.url import resolve

URL = resolve("embedded://")  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"


def translate(job: Job) -> dict[str, str]:
    """Answer one request; the service may be on any machine and in any language with BullMQ."""
    words = {"one": "uno", "two": "dos", "three": "tres"}
    if job.data["word"] not in words:
        raise LookupError(f"no translation of {job.data['word']!r}")
    return {"spanish": words[job.data["word"]]}


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

rows = [(1, "one"), (2, "two"), (3, "six"), (4, "three")]
with Worker("translate", translate, url=URL, concurrency=4, autorun=True):
    requests = spark.createDataFrame(rows, "id long, word string")
    answers = call(requests, "translate", url=URL, in_flight=100, timeout=60_000, returns="spanish string")
answers.show()

found = {row.id: (row.spanish, row.error) for row in answers.collect()}
answers.unpersist()
assert found == {1: ("uno", None), 2: ("dos", None), 3: (None, "no translation of 'six'"), 4: ("tres", None)}
