"""Why a job does not run: the sentence says what somebody who knows everything would say."""

from __future__ import annotations

import asyncio
import os
import random
import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker, aio
from bullrush.inspection import Why
from bullrush.inspection.why import span
from bullrush.rights import acl_rule, read_roles
from tests.waiting import wait_until

#: `make test` plays these; the full number is played by `CASES=2000 pytest`.
CASES = 150
_TIME = re.compile(r"\d+(\.\d)? (ms|s|min|h|d)\b")


def timeless(sentence: str) -> str:
    return _TIME.sub("TIME", sentence)


@dataclass(frozen=True)
class Plan:
    """What is made before somebody asks: all that the oracle knows."""

    kind: str
    active: int
    slots: int | None
    rate: int | None
    paused: bool
    has_worker: bool
    before: int
    last_in: int

    @classmethod
    def of(cls, chance: random.Random) -> Plan:
        return cls(
            kind=chance.choice(["plain", "plain", "prioritized", "delayed", "overdue", "parent"]),
            active=chance.choice([0, 0, 1, 2, 5]),
            slots=chance.choice([None, None, 1, 2, 5]),
            rate=chance.choice([None, None, 1, 7]),
            paused=chance.random() < 0.3,
            has_worker=chance.random() < 0.6,
            before=chance.choice([0, 1, 2, 30]),
            last_in=chance.choice([0, 0, 1, 3]),
        )

    def sentence(self, holders: list[str]) -> str:
        """Return what is to be said, from the plan alone."""
        closed = ["the queue is paused"] * self.paused + ["no worker is connected"] * (not self.has_worker)
        if self.kind == "parent":
            return "It waits for 1 of 1 child: CHILD (waiting)."
        if self.kind == "delayed":
            besides = f" Besides, {' and '.join(closed)}." if closed else ""
            return f"It starts in TIME at the earliest: it has a delay.{besides}"
        if self.kind == "overdue":
            if not closed and not self.active and self.rate is None and self.slots != 0:
                closed = ["the connected worker takes no job"]
            what = "; ".join(closed) or "the next worker that looks for jobs moves it to the others"
            return f"It has been due for TIME (it has a delay): {what}."
        texts = list(closed)
        if self.slots is not None and self.active >= self.slots:
            by = ", ".join(f"{id} for TIME" for id in holders[:3]) + (", ..." if len(holders) > 3 else "")
            texts.append(f"all slots of the global concurrency ({self.slots}) are taken (by {by})")
        if self.rate is not None:
            starts = "1 start" if self.rate == 1 else f"{self.rate} starts"
            texts.append(f"the rate limit of {starts} per TIME lets no job start for TIME more")
        ahead = self.before + self.last_in
        if ahead:
            texts.append("1 job starts before it" if ahead == 1 else f"{ahead} jobs start before it")
        return (
            f"It waits: {'; '.join(texts)}."
            if texts
            else "It is the next one: it starts when a worker has a free slot."
        )


@pytest.fixture
def make(
    redis_url: str, queue_name: str, redis: Redis
) -> Iterator[Callable[[Plan, int], tuple[Queue, str, list[str]]]]:
    """Return a function that makes what a plan says, in a queue of its own: the queue, the job, the active jobs."""
    clients: list[Redis] = []

    def make(plan: Plan, number: int) -> tuple[Queue, str, list[str]]:
        queue = Queue(f"{queue_name}-{number}", url=redis_url)
        queue.add_bulk([{"name": "holds", "data": {}}] * plan.active)
        with Worker(queue.name, None, url=redis_url) as worker:
            holders = [job.id for _ in range(plan.active) if (job := worker.get_next_job(f"t{number}")) is not None]
        # The oldest one stands at the end of the list.
        queue.add_bulk([{"name": "before", "data": {}}] * plan.before)
        if plan.kind == "parent":
            flow = {"name": "p", "queue_name": queue.name, "children": [{"name": "c", "queue_name": f"{queue.name}-c"}]}
            job_id = FlowProducer(url=redis_url).add(flow).job.id
        else:
            options = {"prioritized": {"priority": 5}, "delayed": {"delay": 600_000}, "overdue": {"delay": 600_000}}
            job_id = queue.add("asked", {}, **options.get(plan.kind, {})).id
        if plan.kind == "overdue":
            redis.zadd(queue.to_key("delayed"), {job_id: 4096})
        for _ in range(plan.last_in):
            queue.add("last in", {}, lifo=True)
        if plan.slots is not None:
            queue.set_global_concurrency(plan.slots)
        if plan.rate is not None:
            queue.set_global_rate_limit(plan.rate, 30_000)
            queue.rate_limit(600_000)
        if plan.paused:
            queue.pause()
        if plan.has_worker:
            name = name_of_worker(queue)
            clients.append(Redis.from_url(redis_url, client_name=name))
            clients[-1].ping()
        return queue, job_id, holders

    yield make
    for client in clients:
        client.close()


def name_of_worker(queue: Queue) -> str:
    """Return the name of the connection of a worker, as BullMQ and bullrush give it."""
    return f"{queue.prefix}:{b64encode(queue.name.encode()).decode()}"


def test_the_sentence_is_that_of_an_oracle(make: Callable[[Plan, int], tuple[Queue, str, list[str]]]) -> None:
    chance = random.Random(29)
    for number in range(int(os.environ.get("CASES", CASES))):
        plan = Plan.of(chance)
        queue, job_id, holders = make(plan, number)
        found = queue.why(job_id)
        said = re.sub(r"bull:\S+-c:\S+", "CHILD", timeless(found.sentence))
        assert said == plan.sentence(holders), plan
        if plan.kind in {"plain", "prioritized"}:
            assert found.position == plan.before + plan.last_in + 1, plan
        queue.close()


def test_positions_are_exact_before_and_behind_ten_thousand_jobs(queue: Queue) -> None:
    added = queue.add_bulk([{"name": "x", "data": {}}] * 12_000)
    ranked = queue.add_bulk([{"name": "x", "data": {}, "opts": {"priority": 3}}] * 10)
    for at in (0, 1, 9_998, 9_999, 10_000, 11_999):
        assert queue.why(added[at].id).position == at + 1
    assert queue.why(ranked[-1].id).position == 12_010
    queue.pause()
    assert queue.why(added[10_001].id).position == 10_002


def test_a_running_job_says_where_and_which_attempt(queue: Queue, worker: Callable[..., Worker]) -> None:
    gate = threading.Event()
    job = queue.add("x", attempts=3)
    worker(lambda job: gate.wait(30), autorun=True, name="w1")
    wait_until(job.is_active)
    found = queue.why(job.id)
    gate.set()
    assert found.reasons == ("running",)
    said = "It has run for TIME by the worker w1, attempt 1 of 3; its lock holds for TIME."
    assert timeless(found.sentence) == said


def test_a_job_of_a_dead_worker_says_so(queue: Queue, redis_url: str, redis: Redis) -> None:
    job = queue.add("x")
    with Worker(queue.name, None, url=redis_url) as by_hand:
        assert by_hand.get_next_job("t") is not None
    redis.delete(queue.to_key(f"{job.id}:lock"))
    found = queue.why(job.id)
    assert found.reasons == ("no-lock",)
    assert "its lock has expired: that worker has probably died; no worker is connected" in found.sentence


def test_a_back_off_says_what_failed_and_a_scheduler_its_name(queue: Queue, worker: Callable[..., Worker]) -> None:
    def fail(job: object) -> None:
        raise ValueError("no such user\nmore")

    job = queue.add("x", attempts=4, backoff=600_000)
    worker(fail, autorun=True)
    wait_until(job.is_delayed)
    found = queue.why(job.id)
    assert found.reasons == ("backoff",)
    said = "It starts in TIME at the earliest: a back-off after attempt 1 of 4 failed with no such user."
    assert timeless(found.sentence) == said
    made = queue.upsert_job_scheduler("daily", {"pattern": "0 0 1 1 *"}, {"name": "x"})
    assert made is not None
    assert "the next run of the scheduler daily" in queue.why(made.id).sentence


def test_finished_jobs_say_how_they_ended(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handle(job: aio.Job) -> None:
        if job.name == "bad":
            raise ValueError("no such user")

    good, bad = queue.add("good"), queue.add("bad")
    worker(handle, autorun=True, name="w")
    wait_until(lambda: good.is_completed() and bad.is_failed())
    ended = "TIME ago after it had run for TIME in the worker w"
    assert timeless(queue.why(good.id).sentence) == f"It completed {ended}."
    assert timeless(queue.why(bad.id).sentence) == f"It failed for good {ended}, attempt 1: no such user"


def test_a_parent_names_the_child_that_failed_for_good(
    queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    def fail(job: object) -> None:
        raise ValueError("no")

    children = [{"name": "c", "queue_name": f"{queue.name}-c", "opts": {"job_id": "bad"}}]
    flow = FlowProducer(url=redis_url).add({"name": "p", "queue_name": queue.name, "children": children})
    child = Queue(f"{queue.name}-c", url=redis_url)
    with Worker(child.name, fail, url=redis_url) as running:
        running.run(until="empty")
    found = queue.why(flow.job.id)
    assert found.reasons == ("failed-child", "children")
    assert f"It waits for 1 of 1 child: bull:{child.name}:bad (failed)." in found.sentence
    assert "retry or remove it" in found.sentence
    child.remove("bad")
    assert queue.why(flow.job.id).state == "waiting"
    child.close()


def test_a_parent_that_failed_because_of_a_child_says_why_the_child_failed(
    queue: Queue, redis_url: str, worker: Callable[..., Worker]
) -> None:
    child = {"name": "scene", "queue_name": queue.name, "opts": {"fail_parent_on_failure": True}}
    with FlowProducer(url=redis_url) as flows:
        node = flows.add({"name": "film", "queue_name": queue.name, "children": [child]})

    def fail(job: object) -> None:
        raise ValueError("no such scene")

    worker(fail).run(until="empty")
    why = queue.why(node.job.id)
    assert timeless(why.sentence) == (
        f"It failed for good TIME ago without a run, since its child {queue.to_key(node.children[0].job.id)} failed: "
        "no such scene"
    )
    assert why.reasons == ("failed", "failed-child")


def test_a_parent_without_a_child_of_its_own_says_that_nothing_starts_it(queue: Queue, redis_url: str) -> None:
    def film() -> dict[str, object]:
        child = {"name": "scene", "queue_name": queue.name, "opts": {"job_id": "shared"}}
        return {"name": "film", "queue_name": queue.name, "children": [child]}

    with FlowProducer(url=redis_url) as flows:
        flows.add(film())
        second = flows.add(film())
    why = queue.why(second.job.id)
    assert "has none" in why.sentence and "Nothing starts it" in why.sentence
    assert why.reasons == ("children",)


def test_a_job_that_stalled_too_often_says_what_that_means(queue: Queue, redis: Redis) -> None:
    job = queue.add("x")
    redis.lrem(queue.to_key("wait"), 1, job.id)
    redis.zadd(queue.to_key("failed"), {job.id: 1_700_000_000_000})
    redis.hset(queue.to_key(job.id), "failedReason", "job stalled more than allowable limit")
    assert "since it had stalled more often than max_stalled_count allows" in queue.why(job.id).sentence


def test_a_job_whose_target_no_worker_has_says_so(queue: Queue, worker: Callable[..., Worker]) -> None:
    route = queue.route({"capabilities": ["gpu"]})
    job = route.add("x")
    assert "no worker has the profile that its target needs" in route.why(job.id).sentence


@pytest.mark.parametrize("takes", [{"routes_only": True}, {"claim": "scan"}])
def test_connected_workers_that_do_not_take_a_job_are_named(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], takes: dict[str, object]
) -> None:
    worker(lambda job: None, profile={"capabilities": ["gpu"]}, autorun=True, **takes).wait_until_ready()
    wait_until(queue.get_profiles)
    queue.pause()
    job = queue.add("x")
    # As a producer of Node adds it for workers that scan: it waits in the queue itself.
    redis.hset(queue.to_key(job.id), "opts", '{"target":{"capabilities":["cpu"]}}')
    queue.resume()
    why = queue.why(job.id)
    assert why.reasons == ("no-worker",)
    assert why.sentence == "It waits: the 1 connected worker takes only jobs with a target that it fits."


def test_a_worker_that_scans_takes_a_job_without_a_target(queue: Queue, worker: Callable[..., Worker]) -> None:
    worker(lambda job: None, profile={"capabilities": ["gpu"]}, autorun=True, claim="scan").wait_until_ready()
    wait_until(queue.get_profiles)
    queue.pause()
    assert queue.why(queue.add("x").id).reasons == ("paused",)


def test_a_route_that_shares_a_rate_limit_is_held_up_by_it_and_not_stuck(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    target = {"capabilities": ["gpu"]}
    shared = {"profile": target, "share_rate_limit": True, "limiter": {"max": 1, "duration": 600_000}}
    worker(lambda job: None, autorun=True, **shared)
    first = queue.add("x")
    wait_until(first.is_completed)
    job, route = queue.add("y", target=target), queue.route(target)
    assert route.why(job.id).reasons == ("rate-limit",)
    assert route.health(stuck_after=1).problems == () and route.get_waiting_count() == 1


def test_a_call_of_rate_limit_is_no_reason_for_workers_without_a_limiter(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    queue.rate_limit(600_000)
    job = queue.add("x")
    why = queue.why(job.id)
    assert why.reasons == ("no-worker", "rate-limit")
    assert re.search(
        r"; a call of rate_limit lets workers that have a limiter start no job for .* more; all others ignore it\.$",
        why.sentence,
    )
    worker(lambda job: None).run(until="empty")
    assert job.is_completed()
    limited = queue.add("y")
    queue.set_global_rate_limit(7, 1_000)
    assert "the rate limit of 7 starts per 1.0 s lets no job start for" in queue.why(limited.id).sentence


def test_a_route_is_looked_at_also_where_the_rate_limit_of_its_queue_cannot_be_read(queue: Queue, redis: Redis) -> None:
    route = queue.route({"capabilities": ["gpu"]})
    job = route.add("x")
    redis.hset(queue.to_key("limiter"), "no", "number")
    assert route.why(job.id).reasons == ("no-worker",) and route.health().waiting == 1


def test_ids_without_data_data_without_a_place_and_nothing_at_all(queue: Queue, redis: Redis) -> None:
    job, other = queue.add("x"), queue.add("y")
    redis.delete(queue.to_key(job.id))
    assert queue.why(job.id).reasons == ("no-data",)
    redis.delete(queue.to_key("wait"))
    lost, gone = queue.why(other.id), queue.why("nobody")
    assert (lost.state, lost.reasons, gone.reasons) == ("unknown", ("lost",), ("gone",))
    assert "doctor --deep" in lost.sentence and "never added" in gone.sentence


def test_asyncio_has_the_same_call(queue: Queue, redis_url: str) -> None:
    job = queue.add("x")

    async def ask() -> Why:
        async with aio.Queue(queue.name, url=redis_url) as twin:
            return await twin.why(job.id)

    assert asyncio.run(ask()) == queue.why(job.id)


def test_a_user_who_may_only_read_may_ask(queue: Queue, redis_url: str, redis: Redis, queue_name: str) -> None:
    job = queue.add("x")
    about = read_roles()["reader"]
    redis.execute_command(*acl_rule([*about.needed, *about.useful], user=queue_name, password="x").split())
    try:
        with Queue(queue_name, url=redis_url.replace("//", f"//{queue_name}:x@"), skip_metas_update=True) as reader:
            assert reader.why(job.id).reasons == ("no-worker",)
    finally:
        redis.acl_deluser(queue_name)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (12, "12 ms"),
        (440, "0.4 s"),
        (9_960, "10.0 s"),
        (59_000, "59 s"),
        (119_000, "119 s"),
        (125_000, "2 min"),
        (7_300_000, "2 h"),
        (200_000_000, "2 d"),
    ],
)
def test_times_are_short_words(milliseconds: int, words: str) -> None:
    assert span(milliseconds) == words
