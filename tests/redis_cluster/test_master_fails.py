"""A replica takes over from its master, planned and unplanned: everything goes on by itself."""

import threading

from bullrush import Queue, QueueEvents
from tests.faults.handlers import Handlers
from tests.waiting import wait_until


def test_a_planned_failover_loses_no_job_and_runs_none_twice(cluster, working, ledger):
    name = cluster.key("planned", cluster.shard(0))
    queue, enough = Queue(name, url=cluster.url, timeout=30_000), threading.Event()

    def produce():
        while not enough.is_set():
            ledger.acknowledge([queue.add("brief").id])

    with working(name, Handlers(ledger), concurrency=4):
        producer = threading.Thread(target=produce)
        producer.start()
        try:
            wait_until(lambda: len(ledger.ended) > 50, "jobs run")
            [replica] = cluster.replicas_of(cluster.owner(name))
            replica.say("CLUSTER", "FAILOVER")
            wait_until(replica.is_master, "the replica has taken over")
            seen = len(ledger.ended)
            wait_until(lambda: len(ledger.ended) > seen + 50, "jobs run on")
        finally:
            enough.set()
            producer.join()
        count = len(ledger.acknowledged)
        wait_until(lambda: queue.get_completed_count() == count, "all jobs are done")
    ledger.check(replica.redis, name, duplicates=0)
    cluster.wait_until_up()


def test_workers_and_listeners_go_on_after_a_master_has_died(cluster, working, ledger):
    # Not the slots of the other test: masters do not vote twice for the same ones within a few seconds.
    name = cluster.key("dies", cluster.shard(1))
    queue, heard = Queue(name, url=cluster.url, timeout=30_000), []
    with QueueEvents(name, url=cluster.url) as events, working(name, Handlers(ledger), concurrency=2):
        events.on("completed", lambda event: heard.append(event.job_id))
        events.wait_until_ready()
        master = cluster.owner(name)
        first = queue.add("quick").id
        wait_until(lambda: first in heard, "it has run")
        [replica] = cluster.replicas_of(master)
        # What is not at the replica yet is lost with the master.
        wait_until(lambda: master.say("WAIT", 1, 100) == 1, "the replica has it all")
        for node in cluster.nodes:
            node.say("CONFIG", "SET", "cluster-node-timeout", 500)
        master.kill()
        try:
            second = queue.add("quick").id
            assert cluster.owner(name) is replica
            wait_until(lambda: second in heard, "the worker and the listener have found the new master")
        finally:
            master.restart()
            cluster.wait_until_up()
            for node in cluster.nodes:
                node.say("CONFIG", "SET", "cluster-node-timeout", cluster.timeout)
    assert queue.get_completed_count() == 2
