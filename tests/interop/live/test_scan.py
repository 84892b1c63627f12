"""Jobs that a Node producer puts into a queue with a target in their options, for our workers that scan."""

from contextlib import ExitStack

from tests.waiting import wait_until

from .our_worker import our_worker

TARGETS = {"gpu": {"capabilities": ["gpu"]}, "tpu": {"capabilities": ["tpu:*"], "region": ["eu"]}}
PROFILES = {"gpu": {"capabilities": ["gpu"]}, "tpu": {"capabilities": ["tpu:v5"], "region": ["eu", "us"]}}


def test_jobs_with_a_target_run_where_they_match(theirs, ours, queue_name, redis_url):
    kinds = ["gpu", "tpu", "plain"] * 10
    for number, kind in enumerate(kinds):
        options = {"target": TARGETS[kind]} if kind in TARGETS else {}
        if number % 5 == 0:
            options["delay"] = 20
        if number % 7 == 0:
            options["priority"] = 2
        theirs.call("add", kind, {"number": number}, options)
    with ExitStack() as stack:
        for name, profile in PROFILES.items():
            options = {"profile": profile, "claim": "scan", "name": name, "concurrency": 3}
            stack.enter_context(our_worker(queue_name, redis_url, **options))
        wait_until(lambda: ours.get_completed_count() == len(kinds))
    done = ours.get_completed()
    assert sorted(job.data["number"] for job in done) == [*range(len(kinds))]
    assert {(job.name, job.processed_by) for job in done if job.name != "plain"} == {("gpu", "gpu"), ("tpu", "tpu")}
