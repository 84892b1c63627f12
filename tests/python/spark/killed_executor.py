"""A program for test_executor_killed: drains a queue on two executors; a handler kills one of them during a job."""

import json
import os
import shutil
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from bullrush import Queue
from bullrush.spark import drain, enqueue
from bullrush.spark.java import use_java

JOBS = 400


def work(job):
    import signal
    import time
    from pathlib import Path

    from redis import Redis

    Redis.from_url(os.environ["TEST_REDIS_URL"]).rpush(os.environ["TEST_LEDGER"], job.id)
    if job.data["id"] == JOBS // 4 and job.attempts_started == 1:
        # This process is a fork of Spark's daemon, whose parent is the executor's JVM.
        executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        time.sleep(30)
    time.sleep(0.01)
    return job.data["id"]


def main() -> None:
    name, url, ledger = sys.argv[1:]
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("killed executor")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.TEST_REDIS_URL": url,
        "spark.executorEnv.TEST_LEDGER": ledger,
    }
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    enqueued = enqueue(spark.range(JOBS), name, url=url, job_id="id")
    results = drain(
        spark,
        name,
        work,
        url=url,
        workers=2,
        concurrency=2,
        lock_duration=3_000,
        stalled_interval=1_000,
        returns="n long",
    )
    rows = results.collect()
    counts = Queue(name, url=url).get_job_counts("waiting", "active", "completed", "failed")
    print(json.dumps({"enqueued": enqueued.added, "rows": [[row.jobId, row.state, row.n] for row in rows], **counts}))
    # A local cluster keeps its executors' files inside the installed package.
    files = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
    spark.stop()
    shutil.rmtree(files, ignore_errors=True)


if __name__ == "__main__":
    main()
