"""Random jobs for running workers: what hypothesis draws, and how one sequence is played on both sides.

A sequence adds jobs and flows to two queues, lets a worker of each run until no job is left, promotes delayed jobs, and
so on. What a job does at each start is in its data, see `sides/scripted.py`. The order of everything is determined when
one job runs at a time, nothing is prefetched and each job has its own delay in minutes; otherwise each job is compared
alone.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.interop.newer import differs
from tests.interop.peers import NEWEST_6
from tests.interop.sides.pair import Pair
from tests.interop.sides.state import State, by_job, unordered
from tests.interop.sides.timeless import STEP_MS, without_times, without_wake_ups

QUEUES = ("", "b")
#: How often delayed jobs are promoted and workers run again before a sequence ends.
ROUNDS = 4

values = st.sampled_from([None, 0, False, "", "done", 1.5, [1, None], {"ok": {"deep": []}}, "ä\\u2028\\0"])
progresses = st.sampled_from([0, 50, 100, {"pct": 1}, "half", [1]])
#: None is empty, since bullrush stores the type of an exception without a text.
messages = st.sampled_from(["boom", "two\nlines", "ä"])
middles = st.one_of(
    st.tuples(st.just("progress"), progresses),
    st.tuples(st.just("log"), st.just("row")),
    st.tuples(st.just("update_data"), st.sampled_from([{"n": 1}, {"n": None}, {"m": [1]}])),
    st.tuples(st.just("discard")),
    st.tuples(
        st.just("add_child"), st.sampled_from(QUEUES).map(lambda queue: {"queue": f"@{queue}", "data": {"n": 3}})
    ),
    st.tuples(st.just("wait_children")),
)
returns = st.tuples(st.just("return"), values)
throws = st.tuples(st.sampled_from(["throw", "throw", "unrecoverable"]), messages)
#: An end that leaves the job unfinished; its delay is a multiple of the job's own.
breaks = st.one_of(
    st.tuples(st.just("wait")), st.tuples(st.just("delay"), st.just(1)), st.tuples(st.just("rate_limit"), st.just(30))
)
ends = st.one_of(returns, throws, breaks, st.tuples(st.just("children_values")))
last = st.one_of(returns, throws)
runs = st.builds(
    lambda starts, end: [[*middle, then] for middle, then in starts] + [[end]],
    st.lists(st.tuples(st.lists(middles, max_size=2), ends), max_size=3),
    last,
)
job_options = st.fixed_dictionaries(
    {},
    optional={
        "attempts": st.integers(0, 4),
        "backoff": st.sampled_from([1, {"type": "fixed", "delay": 1}, {"type": "exponential", "delay": 1}]),
        "priority": st.integers(0, 2),
        "lifo": st.booleans(),
        "delay": st.sampled_from([0, 1]),
        # Rules by count depend on the end time, and many jobs of ours end in the same ms.
        "removeOnComplete": st.sampled_from([True, False, {"age": 3600}]),
        "removeOnFail": st.sampled_from([True, False, {"age": 3600}]),
        "keepLogs": st.integers(1, 2),
        "stackTraceLimit": st.integers(0, 2),
        "deduplication": st.sampled_from([{"id": "d1"}, {"id": "d1", "ttl": 600_000}, {"id": "d1", "replace": True}]),
    },
)
policies = st.sampled_from(
    [{}, *({name: True} for name in ("failParentOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure"))]
)
nodes = st.tuples(st.sampled_from(QUEUES), runs, job_options)
children = st.lists(st.tuples(nodes, policies), max_size=3)
batches = st.lists(st.tuples(nodes, st.one_of(st.just([]), children)), min_size=1, max_size=5)
workers = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["def", "async def", "aio", "batch"]),
        "concurrency": st.sampled_from([1, 1, 1, 3]),
        "prefetch": st.sampled_from([0, 0, None, 5]),
        "short": st.sampled_from([False, False, True]),
    },
    optional={"name": st.just("w1"), "maxStartedAttempts": st.just(3)},
)


@st.composite
def worker_run_sequences(draw: Any) -> Any:
    """Draw the worker's options and batches of jobs; the simplest is None."""
    if not draw(st.sampled_from(range(100))):
        return None
    return draw(workers), draw(st.lists(batches, min_size=1, max_size=2))


#: Their effect depends on the order of jobs: whether a child is done, and whether a parent ends before its other
#: children.
FAMILY_ACTIONS = ("add_child", "wait_children", "children_values")
HASTY_POLICIES = ("failParentOnFailure", "continueParentOnFailure")


def _hasty(name: str, value: Any) -> bool:
    """Whether it matters for an option which of two jobs is first.

    A last child that is removed sends its parent to `wait` whatever its priority is.
    """
    return name in ("deduplication", *HASTY_POLICIES) or (name == "removeOnFail" and value is True)


@dataclass(frozen=True)
class Units:
    """Turns the delays of one job, drawn as multiples, into ms."""

    number: int
    short: bool

    @property
    def ms(self) -> int:
        """An odd number of minutes, so that no other job has it or its double; or a few ms."""
        return 7 if self.short else (2 * self.number + 1) * STEP_MS

    def of(self, value: Any) -> Any:
        if isinstance(value, dict) and "delay" in value:
            return {**value, "delay": value["delay"] * self.ms}
        return value * self.ms

    def options(self, opts: dict[str, Any]) -> dict[str, Any]:
        return {name: self.of(value) if name in ("delay", "backoff") else value for name, value in opts.items()}

    def actions(self, runs: list[list[Any]], determined: bool) -> list[Any]:
        return [
            [
                [name, *(map(self.of, rest) if name == "delay" else rest)]
                for name, *rest in actions
                if determined or name not in FAMILY_ACTIONS
            ]
            for actions in runs
        ]


class WorkerRunSequence:
    """Plays one drawn sequence on a pair."""

    def __init__(self, pair: Pair, worker: dict[str, Any]) -> None:
        self._pair = pair
        self._short = worker["short"]
        one_by_one = worker["concurrency"] == 1 and worker["kind"] != "batch"
        self.determined = one_by_one and worker["prefetch"] == 0 and not self._short
        self._worker = {name: value for name, value in worker.items() if name != "short"}
        theirs = pair.on("").foreign.node
        # 6.x has no `Job.discard` any more.
        self._lacks_discard = theirs.major >= NEWEST_6.major
        fails_at_last_start = differs("`maxStartedAttempts`", theirs.version)
        self._most_starts = worker.get("maxStartedAttempts") if fails_at_last_start else None
        self._made = 0
        self.counts: Counter[str] = Counter()
        self.pair_view()

    def pair_view(self) -> None:
        """Compare only what this sequence determines."""
        origin = time.time_ns() // 1_000_000

        def view(state: State) -> State:
            timeless = without_wake_ups(without_times(state, origin))
            return timeless if self.determined else unordered(without_claims(by_job(timeless)))

        self._pair.view = view
        self._pair.result_view = told if self.determined else lambda saw: one_by_one(told(saw))

    def play(self, drawn: list[Any]) -> None:
        for batch in drawn:
            for own, below in batch:
                self._add(own, below)
            for _ in range(ROUNDS):
                for queue in reversed(QUEUES):
                    self._work(queue)
                for queue in QUEUES:
                    if self._there(queue, "delayed"):
                        self._pair.promote_jobs(queue=queue)

    def _add(self, own: Any, below: list[Any]) -> None:
        queue, runs, opts = own
        self.counts["jobs"] += 1 + len(below)
        if not below:
            made = self._node(queue, runs, opts)
            self._pair.add(made["name"], made["data"], **made["opts"], queue=queue)
            return
        made = self._node(queue, runs, opts, {})
        made["children"] = [self._node(*child, policy) for child, policy in below]
        self._pair.add_flow(made)

    def _there(self, queue: str, *places: str) -> bool:
        return any(self._pair.stem(queue) + place in self._pair.seen for place in places)

    def _node(self, queue: str, runs: Any, opts: dict[str, Any], policy: dict[str, bool] | None = None) -> Any:
        """Build a job; in a flow it has a policy, and a fixed id, since random ids would differ."""
        self._made += 1
        units = Units(self._made, self._short)
        opts = units.options(opts)
        if policy is not None:
            opts = {name: value for name, value in opts.items() if name != "deduplication"}
            opts |= {**policy, "jobId": f"f{self._made}"}
        if not self.determined:
            opts = {name: value for name, value in opts.items() if not _hasty(name, value)}
        runs = [[action for action in one if not (self._lacks_discard and action[0] == "discard")] for one in runs]
        data = {"runs": units.actions(self._with_an_end(runs), self.determined)}
        return {"name": "work", "queueName": f"@{queue}", "data": data, "opts": opts}

    def _with_an_end(self, runs: Any) -> Any:
        """Let a job that fails at its last start fail for good, where only BullMQ ends it there.

        It has no child of its own, with which it could not complete either.
        """
        if self._most_starts is None:
            return runs
        before = self._most_starts - 1
        runs = [[action for action in run if action[0] != "add_child"] for run in runs]
        runs = [*runs, *[runs[-1]] * (before + 1 - len(runs))]
        ends = [[("unrecoverable" if name == "throw" else name, *rest) for name, *rest in run] for run in runs[before:]]
        return [*runs[:before], *ends]

    def _work(self, queue: str) -> None:
        if not self._there(queue, "wait", "prioritized", *(["delayed"] if self._short else [])):
            return  # whether an idle worker emits "drained" before it is closed is not determined
        self.counts[f"worker runs, {self._worker['kind']}"] += 1
        self._pair.run_worker(delays=self._short, queue=queue, **self._worker)


def without_claims(state: State) -> State:
    """Leave out the events of jobs that were prefetched and given back, and how often in a row a queue was drained."""
    return {
        key: {**entry, "value": {job: _started(events) for job, events in entry["value"].items()}}
        if entry["type"] == "stream"
        else entry
        for key, entry in state.items()
    }


def _started(events: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for fields in events:
        event, before = dict(fields), dict(kept[-1]) if kept else {"event": None}
        if event["event"] == "waiting" and event.get("prev") == "active" and before["event"] == "active":
            kept.pop()
        elif not event["event"] == before["event"] == "drained":
            kept.append(fields)
    return kept


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def told(saw: Any) -> Any:
    """Leave out what differs by the clock, or on purpose."""
    if not isinstance(saw, dict) or "runs" not in saw:
        return saw

    def job(seen: dict[str, Any], unseen: str = "") -> dict[str, Any]:
        delay = {"delay": round(seen["delay"] / STEP_MS)} if "delay" in seen else {}
        return {name: value for name, value in {**seen, **delay}.items() if name != unseen}

    starts = {name: [job(seen) for seen in saw[name]] for name in ("runs", "active")}
    # Of a job that fails without a handler another thread tells it than of the next job. The order of the others is
    # that of the runs.
    starts["active"].sort(key=_as_json)
    # A job of BullMQ that could not complete still shows the result it would have had.
    outcomes = [
        [event, job(seen, "returnvalue" if event == "failed" else ""), value] for event, seen, value in saw["outcomes"]
    ]
    progress = [[job(seen), value] for seen, value in saw["progress"]]
    # How often it is emitted depends on the time of the fetches, at least during a rate limit.
    return {**saw, **starts, "outcomes": outcomes, "progress": progress, "drained": bool(saw["drained"])}


def one_by_one(saw: Any) -> Any:
    """Sort what a worker run saw, since the order of jobs is not determined."""
    if not isinstance(saw, dict) or "runs" not in saw:
        return saw

    def in_order(found: Any) -> Any:
        return sorted(found, key=_as_json) if isinstance(found, list) else found

    return {name: in_order(found) for name, found in saw.items()}


def play_worker_runs(pair: Pair, drawn: tuple[dict[str, Any], list[Any]]) -> Counter[str]:
    """Play one drawn sequence; return the counts of what it had."""
    worker, batches = drawn
    sequence = WorkerRunSequence(pair, worker)
    sequence.play(batches)
    return sequence.counts
