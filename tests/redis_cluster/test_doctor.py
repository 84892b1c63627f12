"""The doctor on a cluster: it looks at each master, and at queues wherever they are."""

from collections.abc import Iterator

import pytest

from bullrush import FlowProducer, Queue
from bullrush.doctor import Doctor, Report


@pytest.fixture
def places(cluster) -> Iterator[dict[str, int]]:
    """A queue on each master: its name, and the port of its master."""
    made = {cluster.key("doctor", master): master.port for master in cluster.masters()}
    for name in made:
        Queue(name, url=cluster.url).add("send")
    yield made
    for name in made:
        Queue(name, url=cluster.url).obliterate(force=True)


def reported(report: Report) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.queue) for finding in report.findings]


def test_the_queues_of_all_masters_are_found_and_each_master_is_looked_at(cluster, places):
    report = Doctor(cluster.url).examine(deep=True)
    assert set(places) <= set(report.queues) and report.skipped == []
    # The servers of the tests write nothing to disk.
    addresses = [finding.detail.partition(": ")[0] for finding in report.findings if finding.code == "BR004"]
    assert sorted(addresses) == sorted(f"127.0.0.1:{port}" for port in places.values())


def test_what_one_master_has_is_reported_of_that_one(cluster, places):
    name, port = next(iter(places.items()))
    node = next(node for node in cluster.nodes if node.port == port)
    node.redis.config_set("maxmemory-policy", "allkeys-lru")
    node.redis.set(f"bull:{name}:limiter", 9)
    try:
        report = Doctor(cluster.url).examine(places)
    finally:
        node.redis.config_set("maxmemory-policy", "noeviction")
    [policy] = [finding.detail for finding in report.findings if finding.code == "BR003"]
    assert policy.startswith(f"127.0.0.1:{port}: ")
    assert ("BR106", name) in reported(report)


def test_a_repair_goes_to_the_master_of_the_queue(cluster, places):
    for name in places:
        cluster.owner(name).redis.set(f"bull:{name}:limiter", 9)
    doctor = Doctor(cluster.url)
    findings = [finding for finding in doctor.examine(places).findings if finding.code == "BR106"]
    assert {finding.queue for finding in findings} == set(places)
    assert [doctor.repair(finding) for finding in findings] == [None, None, None]
    assert "BR106" not in {code for code, _ in reported(doctor.examine(places))}


def test_lost_jobs_are_found_on_each_master(cluster, places):
    for name in places:
        with FlowProducer(url=cluster.url) as flows:
            flows.add({"name": "parent", "queue_name": name, "children": [{"name": "child", "queue_name": name}]})
        cluster.owner(name).redis.delete(f"bull:{name}:wait")
    found = reported(Doctor(cluster.url).examine(places, deep=True))
    assert {queue for code, queue in found if code == "BR201"} == set(places)


def test_a_queue_without_a_hash_tag_is_named_on_whichever_master_it_is(cluster):
    owner = cluster.owner("bull:untagged:meta").redis
    owner.hset("bull:untagged:meta", "version", "bullmq:5.62.0")
    try:
        assert ("BR010", "untagged") in reported(Doctor(cluster.url).examine())
    finally:
        owner.delete("bull:untagged:meta")


def test_a_prefix_with_a_hash_tag_leads_to_one_master(cluster, name):
    Queue("mail", url=cluster.url, prefix=name).add("send")
    report = Doctor(cluster.url, prefix=name).examine(deep=True)
    assert (report.queues, report.skipped) == (["mail"], [])
    [finding] = [finding for finding in report.findings if finding.code == "BR004"]
    assert finding.detail.startswith(f"127.0.0.1:{cluster.owner(name).port}: ")


def test_the_url_of_one_node_says_that_it_does_not_lead_to_the_others(cluster, places):
    name, port = next(iter(places.items()))
    report = Doctor(f"redis://127.0.0.1:{port}/0").examine()
    assert name in report.queues and report.skipped == [
        "2 other masters of the cluster: give a URL that begins with redis+cluster://"
    ]
    report = Doctor(f"redis://127.0.0.1:{port}/0").examine(places)
    assert report.queues == [name]
    assert len(report.skipped) == 3 and "MOVED" in report.skipped[1]
