"""Random jobs run by workers: our batches leave the state that BullMQ leaves one by one."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.interop.sides.state import unordered

ends = st.sampled_from(
    [["return", 1], ["return", None], ["throw", "boom"], ["unrecoverable", "never"], ["wait"], ["delay", 120_000]]
)
middles = st.lists(st.sampled_from([["progress", 7], ["log", "row"], ["update_data", {"n": 1}]]), max_size=2)
last = st.sampled_from([["return", "done"], ["throw", "the end"]])
data = st.builds(
    lambda attempts, end: {"runs": [[*middle, end] for middle, end in attempts] + [[end]]},
    st.lists(st.tuples(middles, ends), max_size=3),
    last,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "attempts": st.integers(0, 4),
        "backoff": st.sampled_from([60_000, {"type": "exponential", "delay": 60_000}]),
        "priority": st.integers(0, 2),
        "lifo": st.booleans(),
        "delay": st.sampled_from([0, 300_000]),
        # Rules by count depend on the order of independent jobs when several run at a time.
        "removeOnComplete": st.booleans(),
        "removeOnFail": st.booleans(),
        "keepLogs": st.integers(1, 2),
        "stackTraceLimit": st.integers(0, 2),
    },
)
jobs = st.lists(st.builds(lambda data, opts: {"name": "work", "data": data, "opts": opts}, data, options), max_size=12)
workers = st.fixed_dictionaries(
    {"concurrency": st.sampled_from([1, 2, 7])},
    optional={"metrics": st.just({"maxDataPoints": 3}), "name": st.just("w1"), "maxStartedAttempts": st.just(3)},
)


@pytest.mark.timeout(300)
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batches=st.lists(jobs, min_size=1, max_size=2), worker=workers)
def test_any_jobs_worked_off_leave_the_same_state(new_api_pair, batches, worker):
    pair = new_api_pair()
    if worker["concurrency"] > 1:
        ordered = pair.view
        pair.view = lambda state: unordered(ordered(state))
    for batch in batches:
        pair.add_bulk(batch) if batch else pair.pause()
        pair.work(**worker)
        pair.promote_jobs()
        pair.resume()
        pair.work(**worker)
