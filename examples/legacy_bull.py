"""A queue of Bull 3 moves to BullMQ while its producers, Node services that nobody has changed yet, go on adding jobs.

Needs Node >= 18 and Bull: ``npm ci --prefix tests/interop`` in a checkout, else ``npm install bull@3`` here or in
NODE_PATH; and ``pip install 'bullrush[embedded]'``. The same by hand: ``bullrush migrate``, see docs/legacy-bull.md.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from bullrush import LegacyQueue, Queue, Worker
from bullrush.embedded import EmbeddedRedis

PRODUCER = """
const name = ['bull3', 'bull'].find(name => { try { return require.resolve(name); } catch { return false; } });
const Bull = require(name || 'bull');
const queue = new Bull('mails', process.env.REDIS_URL);
const kinds = [{}, { priority: 1 }, { delay: 1000 }, { attempts: 3, backoff: 500 }];
const adding = [];
const add = () => adding.push(queue.add('welcome', { user: adding.length }, kinds[adding.length % 4]));
for (let n = 0; n < 1000; n++) add();
setInterval(add, 5);
Promise.all(adding).then(() => console.log('first 1000'));
process.stdin.on('end', async () => { console.log((await Promise.all(adding)).length); process.exit(); }).resume();
"""

packages = Path(__file__).parents[1] / "tests" / "interop" / "node_modules"
path = os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), str(packages)]))
try:
    subprocess.run(
        ["node", "-e", "try { require.resolve('bull3') } catch { require.resolve('bull') }"],
        check=True, capture_output=True, env={**os.environ, "NODE_PATH": path},
    )  # fmt: skip
except FileNotFoundError:
    sys.exit("this example needs Node >= 18 on PATH")
except subprocess.CalledProcessError:
    sys.exit(
        "this example needs Bull: run 'npm ci --prefix tests/interop' in the checkout, or 'npm install bull@3' here"
    )

server = EmbeddedRedis(port=0)  # a private server on TCP, since Node needs a port
URL = server.url  # with your own: URL = "redis://10.0.0.5:6379/0"

producer = subprocess.Popen(
    ["node", "-e", PRODUCER],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "NODE_PATH": path, "REDIS_URL": URL},
)  # fmt: skip
assert producer.stdout
producer.stdout.readline()

legacy = LegacyQueue("mails", url=URL)
mails = Queue("mails", url=URL, prefix="bullmq")  # the same name with another prefix
print(f"Bull has {legacy.get_job_counts('waiting', 'delayed')}")

# 1. What is there moves at once. Workers of bullrush, or of BullMQ for Node, may run it already.
report = legacy.migrate(mails)
print(f"{sum(report.moved.values())} jobs moved")

# 2. The bridge carries over what the producers still add, until each of them adds to BullMQ.
bridge = threading.Thread(target=legacy.bridge, args=[mails])
bridge.start()
added = int(producer.communicate()[0])  # the last producer ends
legacy.close()
bridge.join()

# 3. The rest moves; then nothing is left, and Bull's keys can go.
with LegacyQueue("mails", url=URL) as rest:
    rest.migrate(mails)
    assert rest.verify(mails).complete
    print(f"{rest.cleanup(mails)} keys of Bull deleted")

seen: list[int] = []
with Worker("mails", lambda job: seen.append(job.data["user"]), url=URL, prefix="bullmq", concurrency=8) as worker:
    worker.run(until="drained")
print(f"{added} jobs were added to Bull; bullrush ran {len(seen)}")
assert sorted(seen) == list(range(added))
