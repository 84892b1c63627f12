"""The examples of docs/spark-source.md run as they are printed, one after the other, in the tests' session."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bullrush import Queue

PAGE = Path(__file__).parents[4] / "docs" / "spark-source.md"


@pytest.mark.spark
def test_the_examples_of_the_guide_run(spark: SparkSession, redis_url: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names = {"spark": spark, "URL": redis_url, "CHECKPOINT": str(tmp_path)}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    jobs = Queue("mails", url=redis_url).get_jobs("waiting")
    assert {job.name for job in jobs} == {"send"}
    assert len(jobs) >= 3
