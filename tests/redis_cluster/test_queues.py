"""Queues on a cluster: each lives in one slot, wherever its URL leads."""

import pytest

from bullrush import FlowProducer, LegacyQueue, Notifications, Queue, QueueEvents, Worker, errors
from bullrush.queue import queue_names
from tests.waiting import wait_until


def prefix_of(name):
    """Return the hash tag of a test as a prefix: it is removed with the test's queue."""
    return name


def test_jobs_run_whichever_master_has_their_slot(cluster, working):
    for number, master in enumerate(cluster.masters()):
        name = cluster.key(f"any-{number}", master)
        with Queue(name, url=cluster.url) as queue, QueueEvents(name, url=cluster.url) as events:
            events.wait_until_ready()
            job = queue.add("job", {"n": number})
            assert master.redis.exists(f"bull:{name}:{job.id}")
            with working(name, lambda job: job.data["n"]):
                assert job.wait_until_finished(events, 20_000) == number
            queue.obliterate(force=True)


def test_a_prefix_with_a_hash_tag_holds_many_queues_and_flows_over_them(cluster, name, working):
    prefix = prefix_of(name)
    leaves = [{"name": "leaf", "queue_name": "leaves", "data": {"n": n}} for n in range(3)]
    with FlowProducer(url=cluster.url, prefix=prefix) as flows:
        root = flows.add({"name": "root", "queue_name": "roots", "children": leaves}).job
        assert len(flows.get_flow(id=root.id, queue_name="roots").children) == 3
    with (
        working("leaves", lambda job: job.data["n"], prefix=prefix),
        working("roots", lambda job: sum(job.get_children_values().values()), prefix=prefix),
    ):
        wait_until(lambda: root.get_state() == "completed", "the flow has run")
    assert Queue("roots", url=cluster.url, prefix=prefix).get_job(root.id).returnvalue == 3


def test_routes_and_workers_of_several_queues_run_on_a_cluster(cluster, name, working):
    prefix, ran = prefix_of(name), []
    queue = Queue("video", url=cluster.url, prefix=prefix)
    queue.add("encode", target={"capabilities": ["gpu"]})
    queue.add("cut")
    handler = lambda job: ran.append(job.name)  # noqa: E731
    with working("video", handler, prefix=prefix, profile={"server": "a", "capabilities": ["gpu"]}):
        wait_until(lambda: sorted(ran) == ["cut", "encode"], "both have run")


def test_messages_reach_listeners_at_every_node(cluster, name):
    heard = []
    with Notifications(cluster.url, prefix_of(name)) as here, Notifications(cluster.url, prefix_of(name)) as there:
        here.listen("sched", "queue", lambda: heard.append(1))
        there.publish("sched", "queue")
        wait_until(lambda: heard, "it has come")


def test_without_a_hash_tag_nothing_is_written_and_the_error_says_what_to_do(cluster, nodes):
    with pytest.raises(errors.QueueNameError, match=r'use prefix "\{bull\}" or queue name "\{scattered\}"'):
        Queue("scattered", url=cluster.url).add("job")
    with pytest.raises(errors.QueueNameError, match="hash tag"):
        Worker("scattered", print, url=cluster.url).run(until="empty")
    with (
        pytest.raises(errors.QueueNameError, match="must share a hash tag"),
        FlowProducer(url=cluster.url) as flows,
    ):
        flows.add({"name": "a", "queue_name": "{a}", "children": [{"name": "b", "queue_name": "{b}"}]})
    assert nodes.keys("*scattered*", target_nodes=nodes.ALL_NODES) == []
    assert nodes.keys("*{b}*", target_nodes=nodes.ALL_NODES) == []


def test_a_plain_url_of_one_node_says_which_url_is_needed(cluster, name):
    other = next(node for node in cluster.masters() if node is not cluster.owner(name))
    with pytest.raises(errors.RedisServerError, match=r"redis\+cluster://"):
        Queue(name, url=f"redis://127.0.0.1:{other.port}").add("job")


def test_all_queues_of_a_cluster_are_found(cluster):
    names = [cluster.key(f"found-{number}", master) for number, master in enumerate(cluster.masters())]
    for name in names:
        Queue(name, url=cluster.url).pause()
    assert set(names) <= set(queue_names(cluster.url))
    for name in names:
        Queue(name, url=cluster.url).obliterate(force=True)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same-slot", "other-slot"])
def test_a_queue_of_bull_moves_on_a_cluster(cluster, name, elsewhere):
    prefix = prefix_of(name)
    with LegacyQueue("old", prefix=prefix, url=cluster.url, flavor="4") as old:
        old.add("welcome", {"n": 1})
        target = f"{{{name[1:-1]}-other}}" if elsewhere else prefix
        with Queue("new", prefix=target, url=cluster.url) as new:
            assert old.migrate(new).moved == {"waiting": 1}
            assert [job.data["n"] for job in new.get_waiting()] == [1]
            new.obliterate(force=True)
