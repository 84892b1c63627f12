"""Turns random steps into calls that fit the current state: fetched jobs are finished, failed jobs are retried.

A step names its job by a random number. The number chooses among the jobs that fit the step. Sometimes, or if no job
fits, it chooses among all jobs and one that does not exist, so that refusals are compared too.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.interop.peers import FLOOR
from tests.interop.sides.pair import Pair
from tests.interop.sides.state import State

from .newer_rows import LEFT_OUT, NewerRows
from .steps import QUEUES

#: Picks from here on choose among all jobs.
WILD = 27
NOBODY = ("", "nobody")

Where = tuple[str, str]


@dataclass
class StepCalls:
    """Calls steps on a pair. After each step it knows what real BullMQ has in Redis."""

    pair: Pair
    state: State = field(default_factory=dict)
    fetches: int = 0
    flows: int = 0
    #: How often each kind of step was called.
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._newer = NewerRows(self.pair)

    def call(self, step: tuple[Any, ...]) -> None:
        name, *args = step
        self.state = self.pair.seen
        method = getattr(self, f"_{name}", None)
        self.counts[name] += 1
        if method is not None:
            method(*args)
        elif name in _OF_A_QUEUE:
            queue, *args = args
            getattr(self.pair, name)(*args, queue=queue)
        else:
            queue, id = self.pick(args[0], *_MEANT_FOR.get(name, ()))
            getattr(self.pair, name)(id, *args[1:], queue=queue)

    def _play(self, step: str, *args: Any, **options: Any) -> None:
        """Play a step as the rows of newer versions say."""
        if step == LEFT_OUT or step.startswith("foreign_"):
            self.counts[f"{step}, see newer.py"] += 1
        if step != LEFT_OUT:
            getattr(self.pair, step)(*args, **options)

    # what is there
    def _value(self, queue: str, key: str, default: Any = ()) -> Any:
        """Return the value of a key of a queue as real BullMQ has it."""
        return self.pair.seen_value(queue, key, default)

    def _in(self, *places: str) -> list[Where]:
        return [(queue, id) for queue in QUEUES for place in places for id in self._value(queue, place)]

    def _all(self) -> list[Where]:
        """Return every job that has a hash."""
        jobs = [key for key, entry in self.state.items() if entry["type"] == "hash" and "timestamp" in entry["value"]]
        stems = {self.pair.stem(queue): queue for queue in QUEUES if queue}
        found = []
        for key in jobs:
            stem = next((stem for stem in stems if key.startswith(stem)), "")
            found.append((stems.get(stem, ""), key.removeprefix(stem)))
        return sorted(found)

    def pick(self, number: int, *places: str) -> Where:
        """Return the queue and the id of a job: one in those places if there is any, by its number."""
        meant = self._in(*places) if number < WILD else []
        candidates = meant or [*self._all(), NOBODY]
        return candidates[number % len(candidates)]

    def _held(self, number: int) -> tuple[str, str, str]:
        """Pick an active job; return its queue, id and token."""
        queue, id = self.pick(number, "active")
        token = "t:wrong" if number == WILD else self._value(queue, f"{id}:lock", "t:lost")
        return queue, id, token

    # producers
    def _add(self, queue: str, data: Any, opts: dict[str, Any]) -> None:
        self.pair.add("work", data, **opts, queue=queue)

    def _add_bulk(self, queue: str, all_opts: list[dict[str, Any]]) -> None:
        self.pair.add_bulk([{"name": "work", "data": {}, "opts": opts} for opts in all_opts], queue=queue)

    def _add_child(self, queue: str, number: int, opts: dict[str, Any], policy: dict[str, bool]) -> None:
        parents = [(parent, id) for parent, id in self._all() if id[0] in "pm"] or [NOBODY]
        parent, id = parents[number % len(parents)]
        self.pair.add("child", {}, **opts, **policy, parent={"id": id, "queue": f"@{parent}"}, queue=queue)

    # workers
    def _fetch(self, number: int, worker: dict[str, Any]) -> None:
        queue, _ = self.pick(number, "wait", "prioritized", "delayed")
        self.fetches += 1
        self._play(self._newer.fetching("fetch", queue), f"t:{self.fetches}", **worker, queue=queue)

    def _complete(self, number: int, value: Any, fetch_next: bool, worker: dict[str, Any]) -> None:
        queue, id, token = self._held(number)
        step = self._newer.fetching("complete", queue) if fetch_next else "complete"
        self._play(step, id, value, token, fetch_next=fetch_next, **worker, queue=queue)

    def _fail(self, number: int, unrecoverable: bool, fetch_next: bool, worker: dict[str, Any]) -> None:
        queue, id, token = self._held(number)
        fetch_next = fetch_next and (unrecoverable or not self._newer.fails_with_backoff(queue, id))
        step = self._newer.fetching("fail", queue) if fetch_next else "fail"
        options = {"unrecoverable": unrecoverable, "fetch_next": fetch_next, **worker}
        self._play(step, id, "boom", token, **options, queue=queue)

    def _move_to_wait(self, number: int) -> None:
        queue, id, token = self._held(number)
        self.pair.move_to_wait(id, token, queue=queue)

    def _move_to_delayed(self, number: int, delay: int) -> None:
        queue, id, token = self._held(number)
        self.pair.move_to_delayed(id, delay, token, queue=queue)

    def _move_to_waiting_children(self, number: int, one_child: bool) -> None:
        queue, id, token = self._held(number)
        pending = sorted(self._value(queue, f"{id}:dependencies"))
        if not (one_child and pending):
            self.pair.move_to_waiting_children(id, token, queue=queue)
            return
        qualified, _, child = pending[number % len(pending)].rpartition(":")
        of = next(queue for queue in QUEUES if ":".join(self.pair.address(queue)) == qualified)
        self.pair.move_to_waiting_children(id, token, {"id": child, "queue": f"@{of}"}, queue=queue)

    def _extend_lock(self, number: int) -> None:
        queue, id, token = self._held(number)
        self.pair.extend_locks(60_000, {id: token}, queue=queue)

    def _lose_lock(self, number: int) -> None:
        queue, id = self.pick(number, "active")
        self.pair.expire(f"{id}:lock", queue)

    def _stalled(self, queue: str, worker: dict[str, Any]) -> None:
        self.pair.stalled(**worker, queue=queue)

    # management
    def _drain(self, queue: str, delayed: bool) -> None:
        # BullMQ then drops the wrong ids from the list. docs/interop.md, "Differences".
        waiting = [*self._value(queue, "wait"), *self._value(queue, "paused"), *self._value(queue, "prioritized")]
        if not any(id.startswith("repeat:") for id in waiting):
            self.pair.drain(delayed, queue=queue)

    def _obliterate(self, queue: str, force: bool, count: int) -> None:
        self.pair.obliterate(force, count, queue=queue)
        newer = self.pair.on(queue).foreign.node.major > FLOOR.major
        if newer and self.pair.stem(queue) + "meta" not in self.pair.seen:
            # It has removed the version, too: this is a queue of the floor until somebody makes a `Queue` for it.
            self.pair.foreign_reopen(queue=queue)

    def _promote_many(self, queue: str, most: int) -> None:
        delayed = [id for of, id in self._in("delayed") if of == queue]
        self.pair.promote_many([*delayed[:most], *delayed[:1], NOBODY[1]], queue=queue)

    def _remove_child_dependency(self, number: int) -> None:
        queue, id = self.pick(number, *_MEANT_FOR["remove_child_dependency"])
        job = self._value(queue, id, {})
        # A child without a parent still has the parent in its options, which BullMQ uses. docs/interop.md,
        # "Differences".
        if "parentKey" in job or "parent" not in job.get("opts", {}):
            self.pair.remove_child_dependency(id, queue=queue)

    def _retry(self, number: int, state: str) -> None:
        queue, id = self.pick(number, *_MEANT_FOR["retry"])
        parent = self._value(queue, id, {}).get("parentKey", "")
        known = parent.removeprefix(f"bull:{self.pair.queue}").removeprefix(":")
        # BullMQ stops half-way when the parent ignored the child's failure. docs/interop.md, "Differences".
        if state == "completed" or f"{known}:failed" not in self.state:
            self.pair.retry(id, state, queue=queue)

    def _expire(self, queue: str, key: str) -> None:
        self.pair.expire(key, queue)

    def _tick(self, ms: int) -> None:
        self.pair.tick(ms)

    def _add_flow(self, flow: dict[str, Any]) -> None:
        self.pair.add_flow(*self._with_free_children([flow]))

    def _add_flows(self, flows: list[dict[str, Any]]) -> None:
        self.pair.add_flows(self._with_free_children(flows))

    def _with_free_children(self, flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give a new id to nodes that another parent has or had, or that are completed.

        BullMQ leaves the first out without an error, while our flows are added as a whole or refused. When the old
        parent of the second is removed, BullMQ does not update the new one. With the third it may release the parent
        before its other children are there. docs/interop.md, "Differences".
        """
        self.flows += 1
        completed = self._in("completed")
        former = self._former_parents()
        parents = {where: self._value(*where).get("parentKey") for where in self._all()}

        def free(node: dict[str, Any], parent: Where | None) -> dict[str, Any]:
            where = (node["queueName"].removeprefix("@"), node["opts"]["jobId"])
            if parent is not None:
                key = self.pair.base(parent[0]) + parent[1]
                others = {parents.get(where) or key, *former[self.pair.base(where[0]) + where[1]]} - {key}
                if where in completed or others:
                    where = (where[0], f"{where[1]}.{self.flows}.{len(parents)}")
                parents[where] = key
            children = {"children": [free(child, where) for child in node["children"]]} if "children" in node else {}
            return {**node, "opts": {**node["opts"], "jobId": where[1]}, **children}

        return [free(flow, None) for flow in flows]

    def _former_parents(self) -> dict[str, set[str]]:
        """Return the jobs that still have the outcome of each child, all by their keys."""
        found: dict[str, set[str]] = defaultdict(set)
        for key, entry in self.state.items():
            job, _, group = key.rpartition(":")
            if job and group in ("processed", "failed", "unsuccessful"):
                for child in entry["value"]:
                    found[child].add(self.pair.key(job))
        return found

    def _upsert_scheduler(self, queue: str, id: str, repeat: dict[str, Any], template: dict[str, Any]) -> None:
        # A scheduler after its end date is refused with a text; see test_refusals.py.
        if repeat.get("endDate", self.pair.now) >= self.pair.now:
            self._play(self._newer.upsert_scheduler(queue, id, repeat), id, repeat, template, queue=queue)

    def _rate_limit(self, queue: str) -> None:
        self.pair.rate_limit(20_000, queue=queue)

    def _set_global_rate_limit(self, queue: str, max: int) -> None:
        self.pair.set_global_rate_limit(max, 10_000, queue=queue)

    def _log(self, number: int) -> None:
        queue, id = self.pick(number)
        self.pair.log(id, "a row", queue=queue)

    def _add_log(self, number: int, keep: int | None) -> None:
        queue, id = self.pick(number)
        self.pair.add_log(id, "a row", keep, queue=queue)

    # getters: what a client sees, compared as results
    def _look(self, queue: str) -> None:
        self.pair.counts("waiting", "active", "delayed", "failed", "completed", "waiting-children", queue=queue)
        # Behind `paused` 6.7.0 has lists in the wrong order, see newer.py.
        self.pair.ranges(["wait", "active", "delayed", "prioritized", "paused"], 0, 2, True, queue=queue)
        self.pair.limits(queue=queue)
        self.pair.rate_limit_ttl(queue=queue)
        self.pair.schedulers(queue=queue)
        self.pair.metrics("completed", queue=queue)
        self.pair.deduplication_job_id("d1", queue=queue)
        self.pair.counts_per_priority([0, 1, 2], queue=queue)

    def _look_at_job(self, number: int) -> None:
        queue, id = self.pick(number, "waiting-children", "failed", "completed", "delayed")
        self.pair.job(id, queue=queue)
        self.pair.state(id, queue=queue)
        self.pair.dependencies(id, queue=queue)
        self.pair.logs(id, queue=queue)


#: Steps whose first argument is the queue and that take the others as they are drawn.
_OF_A_QUEUE = {
    "remove_scheduler",
    "pause",
    "resume",
    "clean",
    "retry_jobs",
    "promote_jobs",
    "remove_rate_limit_key",
    "set_global_concurrency",
    "remove_global_concurrency",
    "remove_global_rate_limit",
    "trim_events",
    "remove_deduplication_key",
}
#: The lists and sets where a step looks for its job first.
_MEANT_FOR = {
    "retry": ("failed", "completed"),
    "promote": ("delayed",),
    "change_delay": ("delayed",),
    "change_priority": ("prioritized", "wait", "paused"),
    "remove_unprocessed_children": ("waiting-children",),
    "remove_child_dependency": ("wait", "active", "delayed", "prioritized", "failed"),
    "update_progress": ("active",),
}
