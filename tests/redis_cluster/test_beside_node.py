"""BullMQ 5.62.0 for Node and bullrush on the same queue of a cluster."""

from collections import Counter

import pytest

from bullrush import Queue
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

pytestmark = pytest.mark.node


def test_both_work_the_jobs_of_both(cluster, name, working):
    node = NodeProcess("bullmq5", f"redis+cluster://127.0.0.1:{cluster.nodes[1].port}")
    ours, theirs = Queue(name, url=cluster.url), TheirQueue(node, name)
    jobs = [{"name": "work", "data": {"runs": [[["sleep", 2], ["return", n]]]}} for n in range(100)]
    try:
        ours.pause()
        ours.add_bulk(jobs)
        theirs.call("addBulk", jobs)
        with theirs.worker(name="theirs", concurrency=2), working(name, lambda _job: 1, name="ours", concurrency=2):
            ours.resume()
            wait_until(lambda: ours.get_completed_count() == 200, "all have run")
        ran = Counter(job.processed_by for job in ours.get_completed())
        assert set(ran) == {"theirs", "ours"}, ran
        assert {job.attempts_started for job in ours.get_completed()} == {1}
    finally:
        theirs.close()
        node.close()
