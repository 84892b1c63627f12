"""Random reads: real BullMQ and bullrush read the same queue after each step of a random sequence.

What is read are keys that bullrush has written, and those of pauses by real BullMQ.
"""

from collections import Counter
from typing import Any

from hypothesis import strategies as st

from tests.interop.peers import NEWEST_6
from tests.interop.sides.pair import Pair

from .step_calls import StepCalls
from .steps import TYPES, Strategy, picks, queues, steps_of

#: The states as they stand in the names of getters.
STATES = ("Waiting", "Active", "Delayed", "Prioritized", "Completed", "Failed", "WaitingChildren")
MOST_READS = 4

_starts = st.sampled_from([0, 0, 1, 2, -2])
_ends = st.sampled_from([-1, -1, 0, 1, 3, -2])
_some_types = st.lists(st.sampled_from([*TYPES, "waiting", "waiting-children"]), min_size=1, max_size=3, unique=True)
#: `getRanges` of BullMQ finds nothing under the name ``waiting``, ours is that of `getJobs`.
_keys = st.lists(st.sampled_from([*TYPES, "waiting-children"]), min_size=1, max_size=3, unique=True)
_types = st.one_of(st.just([]), _some_types)
_priorities = st.lists(st.sampled_from([0, 1, 2, 2_097_151]), min_size=1, max_size=3, unique=True)

#: Reads of a queue, and what is drawn for each.
OF_QUEUES: dict[str, list[Strategy]] = {
    "count": [_types],
    "count_of": [st.sampled_from(STATES)],
    "counts": [_types],
    "counts_per_priority": [_priorities],
    "deduplication_job_id": [st.sampled_from(["d1", "d2", "d3"])],
    "jobs": [_some_types, _starts, _ends, st.booleans()],
    "jobs_of": [st.sampled_from(STATES), _starts, _ends],
    "limits": [],
    "metrics": [st.sampled_from(["completed", "failed"])],
    "ranges": [_keys, _starts, _ends, st.booleans()],
    "rate_limit_ttl": [st.sampled_from([None, 1, 3])],
    "schedulers": [],
}
#: Reads of a job.
OF_JOBS: dict[str, list[Strategy]] = {
    "dependencies": [],
    "job": [],
    "logs": [_starts, _ends, st.booleans()],
    "state": [],
}
#: Those whose states are arguments of their own.
_SPREAD = ("count", "counts")

_reads = st.one_of(
    *(st.tuples(st.just(name), queues, *arguments) for name, arguments in OF_QUEUES.items()),
    *(st.tuples(st.just(name), picks, *arguments) for name, arguments in OF_JOBS.items()),
)
_pauses = st.tuples(st.sampled_from(["foreign_pause", "foreign_resume"]), queues)
#: A step, and what is read after it.
visits = st.tuples(
    st.one_of(*[steps_of(lambda name: not name.startswith("look"))] * 9, _pauses), st.lists(_reads, max_size=MOST_READS)
)


def play_getters(pair: Pair, sequence: list[Any]) -> Counter[str]:
    """Play a sequence of steps with reads after each; return how many there were of each kind."""
    calls = StepCalls(pair)
    reads: Counter[str] = Counter()
    for step, asked in sequence:
        if step[0].startswith("foreign"):
            getattr(pair, step[0])(queue=step[1])
        else:
            calls.call(step)
        for read in asked:
            reads[f"read: {read[0]}"] += 1
            _read(pair, calls, *read)
    return calls.counts + reads


def _read(pair: Pair, calls: StepCalls, getter: str, which: Any, *args: Any) -> None:
    if getter in OF_JOBS:
        queue, id = calls.pick(which, "waiting-children", "failed", "completed", "delayed")
        pair.read(getter, id, *args, queue=queue)
        return
    if pair.on(which).foreign.node.major >= NEWEST_6.major:
        # Beside 6 nothing is paused in a list of its own, and what its getters say of that list is another order.
        args = tuple([type for type in arg if type != "paused"] if isinstance(arg, list) else arg for arg in args)
        if args and args[0] == [] and getter in ("jobs", "ranges"):
            return
    pair.read(getter, *(args[0] if getter in _SPREAD else args), queue=which)
