"""A Node service adds orders, Spark scores them, and another Node service gets the suspicious ones.

Needs Node >= 18 and ``npm install bullmq@5`` here or in NODE_PATH, and ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import subprocess
import sys

from pyspark.sql import SparkSession

from bullrush.embedded import EmbeddedRedis
from bullrush.spark import drain, enqueue
from bullrush.spark.java import use_java

server = EmbeddedRedis(port=0)  # a private server on TCP, since Node needs a port
URL = server.url  # with your own: URL = "redis://10.0.0.5:6379/0"

PRODUCER = """
const { Queue } = require('bullmq');
const queue = new Queue('pipeline-orders', { connection: { url: process.env.REDIS_URL } });
const orders = Array.from({ length: 300 }, (_, i) => ({ name: 'order', data: { order: i, amount: i * 7 % 100 } }));
queue.addBulk(orders).then(() => queue.close());
"""

CONSUMER = """
const { Worker } = require('bullmq');
const seen = [];
const worker = new Worker('pipeline-alerts', async job => {
  seen.push(job.data.order);
  if (seen.length === Number(process.env.ALERTS)) setImmediate(() => worker.close());
}, { connection: { url: process.env.REDIS_URL } });
worker.on('closed', () => console.log(seen.length));
"""


def node(program: str, **variables: str) -> str:
    """Run a Node program, and return what it prints."""
    environment = {**os.environ, "REDIS_URL": URL, **variables}
    return subprocess.run(["node", "-e", program], check=True, stdout=subprocess.PIPE, env=environment).stdout.decode()


def score(job):
    """Score one order; this runs on the executors."""
    return {"order": job.data["order"], "score": job.data["amount"] / 100}


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

node(PRODUCER)
scored = drain(spark, "pipeline-orders", score, url=URL, workers=2, returns="order long, score double")
suspicious = scored.filter("score >= 0.9").select("order", "score")
alerts = enqueue(suspicious, "pipeline-alerts", url=URL, name="alert", job_id="order").added
received = int(node(CONSUMER, ALERTS=str(alerts)))
print(f"{scored.count()} orders scored, {alerts} alerts sent to Node, {received} received")
assert (scored.count(), alerts, received) == (300, 30, 30)
