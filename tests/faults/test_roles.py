"""Programs of each role do all that they can, as a Redis user with the rights of that role and no others.

The server notes every refusal (ACL LOG), also those that a program handles.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from bullrush import FlowProducer, Job, JobScheduler, Queue, QueueEvents, Worker
from bullrush.errors import RedisServerError
from bullrush.rights import acl_rule, read_roles
from docs.build.rights import NEVER
from tests.waiting import wait_until

PROFILE = {"capabilities": ["gpu"]}


class Users:
    """Users of the server, one per role, and what they were refused."""

    def __init__(self, redis: Any, url: str) -> None:
        self._redis, self._url = redis, url
        for name, role in read_roles().items():
            self.allow(name, *role.needed, *role.useful)

    def allow(self, user: str, *commands: str) -> None:
        rule = acl_rule(commands, user=user, password="secret", queues=["mail", "video"])
        self._redis.execute_command(*rule.split())

    def url(self, user: str) -> str:
        return self._url.replace("redis://", f"redis://{user}:secret@")

    def refused(self) -> set[str]:
        """Return the commands that somebody was refused, but for those that no rule has."""
        log = self._redis.execute_command("ACL LOG")
        entries = [
            dict(zip(entry[::2], entry[1::2], strict=True)) if isinstance(entry, list) else entry for entry in log
        ]
        parents = {name.partition("|")[0] for name in NEVER}
        return {entry["object"] for entry in entries if entry["object"] not in NEVER and entry["object"] not in parents}


@pytest.fixture
def users(own_redis, server) -> Iterator[Users]:
    made = Users(own_redis, server.url)
    yield made
    assert made.refused() == set()


def work(job: Job) -> Any:
    """Do everything that a handler can do with its own job."""
    if job.name == "flaky" and job.attempts_started < 2:
        raise ValueError("the first attempt fails")
    if job.name == "parent":
        return {"children": len(job.get_children_values()), **job.get_dependencies_count()}
    job.log("begun")
    job.update_progress(50)
    job.update_data({**job.data, "seen": True})
    job.clear_logs(1)
    return job.get_state()


def add_everything(url: str) -> None:
    """Add jobs in every way."""
    queue = Queue("mail", url=url, notify=True, fan_out=True)
    queue.add("plain", {})
    queue.add("later", {}, delay=1)
    queue.add("urgent", {}, priority=3)
    queue.add("last", {}, lifo=True)
    queue.add("named", {}, job_id="mine")
    queue.add("once", {}, deduplication={"id": "d", "ttl": 60_000})
    queue.add("once", {}, deduplication={"id": "d", "replace": True})
    queue.add("flaky", {}, attempts=2, backoff=1)
    queue.add("flaky", {}, attempts=2)
    queue.add("kept", {}, remove_on_complete={"count": 5, "age": 60})
    queue.add("routed", {}, target=PROFILE)
    queue.add_bulk([{"name": "bulk", "data": {}} for _ in range(60)])
    with FlowProducer(url=url) as flows:
        children = [{"name": "child", "queue_name": "video", "data": {}} for _ in range(3)]
        tree = flows.add({"name": "parent", "queue_name": "mail", "children": children})
        assert len(flows.get_flow(id=tree.job.id, queue_name="mail").children) == 3
    with JobScheduler("mail", url=url) as schedulers:
        schedulers.upsert_job_scheduler("often", {"every": 3_600_000}, {"name": "tick", "data": {}})
        assert schedulers.get_scheduler("often")


def open_jobs(queues: list[Queue]) -> int:
    """Return how many jobs of these queues and their routes have not ended."""
    states = ("waiting", "active", "delayed", "prioritized", "waiting-children")
    return sum(count for queue in queues for count in queue.get_job_counts(*states, routes=True).values())


def test_producers_add_and_workers_work(users, server):
    add_everything(users.url("producer"))
    base = Queue("mail", url=users.url("producer"))
    queues = [Queue(name, url=server.url) for name in ("mail", "video")]
    ended = {"limiter": {"max": 1000, "duration": 1000}, "metrics": {"max_data_points": 10}, "notify": True}
    options = {"url": users.url("worker"), "autorun": True, "concurrency": 4, "stalled_interval": 50, **ended}
    errors: list[str] = []
    waited = base.add("plain", {})
    with (
        Worker("mail", work, profile=PROFILE, **options) as mail,
        Worker("video", work, run="nightly", **options) as video,
    ):
        for worker in (mail, video):
            worker.on("error", lambda error: errors.append(str(error)))
        assert waited.wait_until_finished(timeout=20_000) == "active"
        wait_until(lambda: open_jobs(queues) == 1, "only the next run of `tick` is left")
        assert mail.health().connected
        assert [worker["rawname"] for worker in base.get_workers()]
    assert errors == []
    ended = queues[0].get_job_counts("completed", "failed", routes=True)
    assert ended["completed"] >= 5 and ended["failed"] == 0


def test_a_worker_takes_over_the_jobs_of_a_dead_one(users, own_redis):
    queue = Queue("mail", url=users.url("producer"))
    job = queue.add("plain", {})
    own_redis.rename("bull:mail:wait", "bull:mail:active")
    own_redis.sadd("bull:mail:stalled", job.id)
    own_redis.hset(f"bull:mail:{job.id}", "ats", 1)
    with Worker("mail", work, url=users.url("worker"), autorun=True, stalled_interval=50):
        assert job.wait_until_finished(timeout=20_000) == "active"


def test_a_job_is_worked_by_hand(users):
    queue = Queue("mail", url=users.url("producer"))
    for name in ("one", "two", "three"):
        queue.add(name, {})
    with Worker("mail", url=users.url("worker")) as worker:
        first = worker.get_next_job("token")
        first.extend_lock("token", 10_000)
        first.move_to_completed("done", "token", fetch_next=False)
        second = worker.get_next_job("token")
        second.move_to_failed(ValueError("no"), "token", fetch_next=False)
        third = worker.get_next_job("token")
        third.move_to_delayed(2_000_000_000_000, "token")
    assert queue.get_job_counts("completed", "failed", "delayed") == {"completed": 1, "failed": 1, "delayed": 1}


def test_readers_read(users, server, own_redis):
    queue = Queue("mail", url=server.url)
    parent = FlowProducer(url=server.url).add(
        {"name": "parent", "queue_name": "mail", "children": [{"name": "child", "queue_name": "mail"}]}
    )
    routed = queue.add("routed", {}, target=PROFILE)
    queue.add("soon", {}, delay=60_000)
    with Queue("mail", url=users.url("reader")) as mine, QueueEvents("mail", url=users.url("reader")) as events:
        assert sum(mine.get_job_counts().values()) == 3
        assert len(mine.get_jobs()) == 3
        assert mine.get_job(parent.job.id).get_state() == "waiting-children"
        assert mine.get_job(parent.job.id).get_dependencies_count()["unprocessed"] == 1
        assert mine.get_job_logs(parent.job.id)["count"] == 0
        assert mine.get_metrics("completed")["count"] == 0
        assert mine.get_job_schedulers() == []
        assert mine.get_workers() == []
        assert mine.route_status()[0].waiting == 1
        assert mine.get_counts_per_priority([0, 1]) == {"0": 1, "1": 0}
        assert mine.health().connected
        assert FlowProducer(url=users.url("reader")).get_flow(id=parent.job.id, queue_name="mail").children
        events.wait_until_ready()
        assert mine.get_job(routed.id) is None
        assert users.refused() == set()
        for change in (mine.pause, lambda: mine.add("n"), lambda: mine.remove(parent.job.id)):
            with pytest.raises(RedisServerError, match="NOPERM"):
                change()
    assert queue.get_job_counts("waiting-children")["waiting-children"] == 1
    own_redis.execute_command("ACL LOG", "RESET")


def test_admins_manage(users, server):
    queue = Queue("mail", url=users.url("admin"))
    for _ in range(4):
        queue.add("n", {})
    delayed = queue.add("n", {}, delay=60_000)
    urgent = queue.add("n", {}, priority=5)
    with Worker("mail", lambda job: 1 / 0, url=users.url("worker"), autorun=True):
        wait_until(lambda: queue.get_failed_count() == 5, "all have failed")
    queue.pause()
    queue.resume()
    queue.retry_jobs()
    urgent.change_priority(priority=1)
    delayed.change_delay(30_000)
    delayed.promote()
    queue.rate_limit(1000)
    queue.remove_rate_limit_key()
    queue.set_global_concurrency(3)
    queue.remove_global_concurrency()
    queue.trim_events(10)
    queue.remove(delayed.id)
    queue.remove_orphaned_jobs()
    queue.clean(0, 1, "wait")
    queue.drain(delayed=True)
    queue.obliterate(force=True)
    assert Queue("mail", url=server.url).get_job_counts() == dict.fromkeys(queue.get_job_counts(), 0)


def test_a_worker_with_no_more_than_it_needs_says_nothing(users, own_redis):
    users.allow("spare", *read_roles()["worker"].needed)
    job = Queue("mail", url=users.url("producer")).add("plain", {})
    errors: list[str] = []
    with Worker("mail", work, url=users.url("spare"), autorun=True) as worker:
        worker.on("error", lambda error: errors.append(str(error)))
        assert job.wait_until_finished(timeout=20_000) == "active"
    assert errors == []
    own_redis.execute_command("ACL LOG", "RESET")
