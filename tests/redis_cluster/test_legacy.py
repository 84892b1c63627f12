"""Queues of Bull on a cluster: messages go to all nodes, but each node knows only who listens there."""

import pytest

from bullrush import LegacyQueue, Queue
from bullrush.errors import LegacyQueueError
from tests.waiting import wait_until


def test_a_program_with_bull_is_noticed_on_whatever_master_it_listens(cluster, name):
    channel = f"bull:{name}:delayed"
    for master in cluster.masters():
        with master.redis.pubsub() as bull:
            bull.subscribe(channel)
            wait_until(lambda redis=master.redis: redis.pubsub_numsub(channel)[0][1] == 1, "it listens")
            with Queue(name, url=cluster.url) as queue, pytest.raises(LegacyQueueError, match="listens to the channel"):
                queue.add("welcome")
            with LegacyQueue(name, url=cluster.url) as old, Queue(name, url=cluster.url, prefix="moved") as new:
                [client] = old.bridge(new, until="empty").use.clients
                assert client.role == "listener"
                old.forget()
        wait_until(lambda redis=master.redis: redis.pubsub_numsub(channel)[0][1] == 0, "it has gone")
    with Queue(name, url=cluster.url) as queue:
        assert queue.add("welcome").id
