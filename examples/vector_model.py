"""A model that computes with columns: each call gets the data of up to 500 jobs as one Arrow batch.

Here it is numpy on the CPU; a model on a GPU is used in the same way. Needs ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import sys

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush.spark import arrow_handler, drain, enqueue
from bullrush.spark.java import use_java
from bullrush.url import resolve

URL = resolve("embedded://")  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"


class Model:
    """A logistic regression. The executors load it when they first use it, once per task."""

    weights: np.ndarray | None = None

    def __call__(self, batch: pa.RecordBatch) -> dict[str, np.ndarray]:
        """Score all rows of a batch in one step; one value per row."""
        if self.weights is None:
            self.weights = np.array([0.25, -0.5, 1.0])  # with a GPU: load the model to the device
        features = np.column_stack([batch[name].to_numpy() for name in ("height", "weight", "age")])
        return {"score": 1 / (1 + np.exp(-features @ self.weights))}


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

people = spark.range(2000).select(
    "id",
    (f.col("id") % 7 / 7).alias("height"),
    (f.col("id") % 5 / 5).alias("weight"),
    (f.col("id") % 3 / 3).alias("age"),
)
enqueue(people, "model", url=URL, job_id="id")
handler = arrow_handler(Model(), input="height double, weight double, age double")
scored = drain(spark, "model", url=URL, workers=2, batch_handler=handler, batch_size=500, returns="score double")
scored.select("jobId", "state", "score").show(3)

row = scored.filter("jobId = 'id-8'").collect()[0]
assert scored.filter("state = 'completed'").count() == 2000
assert abs(row.score - 1 / (1 + np.exp(-(0.25 * 1 / 7 - 0.5 * 3 / 5 + 2 / 3)))) < 1e-12
