"""The steps of random sequences as hypothesis draws them, the simplest of each kind first.

Pools are small, so that ids, names and keys collide. TTLs are multiples of 10 s: they run on the real clock of Redis,
are compared in such steps, and must outlive a sequence.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.interop.sides.pair import EPOCH

Strategy = st.SearchStrategy[Any]

#: Two queues of one prefix, and one of another.
QUEUES = ("", "b", "other/c")
TYPES = ("completed", "failed", "delayed", "wait", "paused", "active", "prioritized")
POLICIES = ("failParentOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure", "removeDependencyOnFailure")

queues = st.sampled_from(["", "", "b", "other/c"])
#: Chooses a job; the highest numbers choose among all jobs, see `StepCalls`.
picks = st.integers(0, 29)
datas = st.sampled_from([{}, {"n": 1}, "text", [1, None], 0])
results = st.sampled_from([None, 1, {"ok": True}])
progresses = st.sampled_from([0, 50, {"pct": 1}])
keep_rules = st.sampled_from([True, False, 1, 2, {"age": 2}, {"age": 1, "count": 1}])
delays = st.sampled_from([0, 500, 5000])
priorities = st.sampled_from([0, 1, 2, 2_097_151])
backoffs = st.sampled_from(
    [0, 1000, {"type": "fixed", "delay": 500}, {"type": "exponential", "delay": 500}]  # jitter is random
)
deduplications = st.sampled_from(
    [
        {"id": "d1"},
        {"id": "d2"},
        {"id": "d1", "ttl": 20_000},
        {"id": "d1", "ttl": 40_000, "extend": True},
        {"id": "d1", "replace": True},
        {"id": "d1", "ttl": 20_000, "replace": True},
        {"id": "d1", "ttl": 40_000, "extend": True, "replace": True},
    ]
)
run_options: dict[str, Strategy] = {
    "priority": priorities,
    "lifo": st.booleans(),
    "attempts": st.integers(0, 3),
    "backoff": backoffs,
    "removeOnComplete": keep_rules,
    "removeOnFail": keep_rules,
    "stackTraceLimit": st.integers(0, 2),
    "keepLogs": st.integers(1, 2),
}


def some_of(options: dict[str, Strategy], at_most: int) -> Strategy:
    """Draw values for few of the options: a job with all of them would meet fewer others in the same state."""

    @st.composite
    def draw_some(draw: Any) -> dict[str, Any]:
        names = draw(st.lists(st.sampled_from(sorted(options)), max_size=at_most, unique=True))
        return {name: draw(options[name]) for name in names}

    return draw_some()


timed = {**run_options, "delay": delays, "timestamp": st.sampled_from([EPOCH - 1000, EPOCH + 1000])}
job_options = some_of(
    {**timed, "jobId": st.sampled_from(["x", "y", "a:b:c"]), "deduplication": deduplications},
    at_most=3,
)
policies = st.one_of(st.just({}), st.sampled_from(POLICIES).map(lambda name: {name: True}))
template = st.fixed_dictionaries(
    {}, optional={"name": st.just("made"), "data": datas, "opts": some_of(run_options, at_most=2)}
)
repeats = st.one_of(
    st.fixed_dictionaries(
        {"every": st.sampled_from([1000, 1500, 60_000])},
        optional={
            "limit": st.integers(1, 3),
            "startDate": st.sampled_from([EPOCH + 2500, EPOCH - 700]),
            "endDate": st.just(EPOCH + 9000),
        },
    ),
    st.fixed_dictionaries(
        {"pattern": st.sampled_from(["*/2 * * * * *", "0 * * * *", "30 2 * * 1#1"]), "tz": st.just("Europe/Madrid")},
        optional={"limit": st.integers(1, 3), "immediately": st.just(True), "endDate": st.just(EPOCH + 9000)},
    ),
)
workers = some_of(
    {
        "name": st.just("w1"),
        "limiter": st.just({"max": 2, "duration": 10_000}),
        "metrics": st.just({"maxDataPoints": 2}),
        "removeOnComplete": st.just({"count": 2}),
        "removeOnFail": st.just({"age": 3}),
    },
    at_most=1,
)
stalled_workers = st.sampled_from([{}, {"maxStalledCount": 0}])


def tree(level: int) -> Strategy:
    """Draw a node of a flow.

    Its id tells its level and a parent's is always lower, so no job becomes its own ancestor.
    """
    ids = st.sampled_from([f"{'pmc'[level]}{number}" for number in (1, 2, 3)])
    own = st.tuples(queues, ids, some_of(timed, at_most=1), policies if level else st.just({}), datas)
    children = st.lists(tree(level + 1), min_size=1 - min(level, 1), max_size=3) if level < 2 else st.just([])

    def node(own: Any, children: list[Any]) -> dict[str, Any]:
        queue, id, opts, policy, data = own
        made = {"name": "node", "queueName": f"@{queue}", "data": data, "opts": {"jobId": id, **opts, **policy}}
        return {**made, "children": children} if children else made

    return st.builds(node, own, children)


#: Every kind of step: its weight and what is drawn for it. `StepCalls` has a method of each name.
STEPS: dict[str, tuple[int, list[Strategy]]] = {
    "add": (12, [queues, datas, job_options]),
    "fetch": (14, [picks, workers]),
    "complete": (10, [picks, results, st.booleans(), workers]),
    "fail": (9, [picks, st.booleans(), st.booleans(), workers]),
    "tick": (6, [st.sampled_from([1, 500, 1000, 5000, 60_000])]),
    "add_bulk": (3, [queues, st.lists(job_options, min_size=1, max_size=4)]),
    "add_child": (4, [queues, picks, some_of(timed, at_most=1), policies]),
    "add_flow": (7, [tree(0)]),
    "add_flows": (1, [st.lists(tree(0), min_size=1, max_size=2)]),
    "upsert_scheduler": (3, [queues, st.sampled_from(["s1", "s:2"]), repeats, template]),
    "remove_scheduler": (1, [queues, st.sampled_from(["s1", "s:2"])]),
    "move_to_wait": (1, [picks]),
    "move_to_delayed": (1, [picks, st.sampled_from([0, 700])]),
    "move_to_waiting_children": (3, [picks, st.booleans()]),
    "extend_lock": (1, [picks]),
    "lose_lock": (2, [picks]),
    "stalled": (3, [queues, stalled_workers]),
    "expire": (2, [queues, st.sampled_from(["limiter", "stalled-check", "de:d1"])]),
    "pause": (1, [queues]),
    "resume": (2, [queues]),
    "drain": (1, [queues, st.booleans()]),
    "clean": (2, [queues, st.sampled_from([0, 1000]), st.sampled_from([0, 1, 3]), st.sampled_from(TYPES)]),
    "obliterate": (1, [queues, st.booleans(), st.sampled_from([1000, 2])]),
    "retry_jobs": (1, [queues, st.sampled_from(["failed", "completed"]), st.sampled_from([1000, 1])]),
    "promote_jobs": (1, [queues, st.sampled_from([1000, 1])]),
    "remove": (3, [picks, st.booleans()]),
    "remove_job": (1, [picks, st.booleans()]),
    "remove_child_dependency": (2, [picks]),
    "remove_unprocessed_children": (1, [picks]),
    "retry": (3, [picks, st.sampled_from(["failed", "completed"])]),
    "promote": (2, [picks]),
    "promote_many": (1, [queues, st.integers(0, 3)]),
    "change_delay": (1, [picks, delays]),
    "change_priority": (2, [picks, priorities, st.booleans()]),
    "update_data": (1, [picks, datas]),
    "update_progress": (1, [picks, progresses]),
    "log": (1, [picks]),
    "add_log": (1, [picks, st.sampled_from([None, 1, 2])]),
    "clear_logs": (1, [picks, st.sampled_from([None, 1])]),
    "rate_limit": (1, [queues]),
    "remove_rate_limit_key": (1, [queues]),
    "set_global_concurrency": (1, [queues, st.integers(1, 2)]),
    "remove_global_concurrency": (1, [queues]),
    "set_global_rate_limit": (1, [queues, st.integers(1, 3)]),
    "remove_global_rate_limit": (1, [queues]),
    "trim_events": (1, [queues, st.sampled_from([1000, 0])]),
    "remove_deduplication_key": (1, [queues, st.sampled_from(["d1", "d2"])]),
    "look": (2, [queues]),
    "look_at_job": (2, [picks]),
}


def steps_of(names: Callable[[str], bool] = lambda name: True) -> Strategy:
    """Draw one step of those kinds, as ``(name, *arguments)``."""
    weighted = [name for name, (weight, _) in STEPS.items() if names(name) for _ in range(weight)]
    drawn = {name: st.tuples(st.just(name), *arguments) for name, (_, arguments) in STEPS.items()}

    @st.composite
    def draw_step(draw: Any) -> tuple[Any, ...]:
        step: tuple[Any, ...] = draw(drawn[draw(st.sampled_from(weighted))])
        return step

    return draw_step()
