"""What must hold after a round, whatever happened in it."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bullrush._core import QUEUE_KEYS

from .awake import Asleep
from .heartbeat import Heartbeat
from .history import History, Run, Stored
from .jobs import LONG_MS, expected_end
from .processes import LOCK_MS, OURS, STALLED_INTERVAL_MS, Process

if TYPE_CHECKING:
    from .happened import Happened
    from .round import Round

#: Longest time (s) from the end of a fault until each job that it hit has its outcome: the lock expires, two checks for
#: stalled jobs, the job itself, and the jobs before it on a machine that does many other things.
RECOVERY_SECONDS = (LOCK_MS + 2 * STALLED_INTERVAL_MS + LONG_MS) / 1000 + 15
#: Faults that hit everybody for this long (s) delay the recovery from others, by their own time and that to come back.
LASTS_SECONDS, COMES_BACK_SECONDS = 0.3, 1.0
#: A process that the machine kept from running for so much (s) of a run loses its locks as if it had been suspended.
STARVED_SECONDS = 1.0
#: A run may be hit by a fault that ended this long (s) before it began: its job was claimed then.
CLAIM_SECONDS = LOCK_MS / 1000 + 2
#: And by one that began this long after its handler returned: its outcome was still on the way.
REPLY_SECONDS = 2.0
#: How much (s) of what had happened a replica may not have when it takes over.
ROLLED_BACK_SECONDS = 10.0
#: How the names of our producers end: in durable rounds they wait for a replica, and they listen to Sentinels.
OUR_PRODUCERS = ("-sync", "-aio", "-spark")
#: How long (s) others go on adding to an old master that answers although the Sentinels have named another one. BullMQ
#: for Node does so until a Sentinel makes the old one a replica.
STAYS_SECONDS = 12.0
#: How many more descriptors and threads a worker may have after the faults than before: connections that come and go.
MORE_DESCRIPTORS, MORE_THREADS = 8, 4

KNOWN_KEYS = {key.name for key in QUEUE_KEYS if key.owner != "bullrush" and key.family is None}
#: What counts the jobs of a batch of Spark, for some days, and the list by which `obliterate` finds that.
BATCHES = ("ext:enq-", "ext:named")
PARTS = re.compile(r":(dependencies|processed|failed|unsuccessful|logs)$")


@dataclass
class Findings:
    """The result of a round."""

    violations: list[str] = field(default_factory=list)
    jobs: int = 0
    runs: int = 0
    repeated: int = 0
    lost: int = 0
    #: Jobs that BullMQ for Node ran and then failed, since Redis refused the call that completes them.
    failed_by_node: int = 0
    #: Processes of BullMQ for Node that did not end after SIGTERM.
    hung_of_node: int = 0
    #: Jobs that ran again since the machine kept their process from running.
    starved: int = 0
    #: Pairs of a fault and a job in hand at that time.
    in_hand: int = 0
    #: By fault, the seconds from its end until the last job in hand had its outcome.
    recoveries: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    pick_ups: list[float] = field(default_factory=list)
    #: How often the suite looked whether workers were awake, and when some slept while jobs were ready.
    looks: int = 0
    asleep: list[Asleep] = field(default_factory=list)
    #: Kind, descriptors and threads before, descriptors and threads after.
    footprints: list[tuple[str, int, int, int, int]] = field(default_factory=list)

    def wrong(self, text: str) -> None:
        self.violations.append(text[:4000])

    def ended(self, process: Process, wrong: str) -> None:
        """Note what is wrong with how a process ended. BullMQ for Node may wait forever: that is only counted."""
        if process.hung and not process.is_ours:
            self.hung_of_node += 1
        else:
            self.wrong(wrong)


def check(round: "Round", history: History) -> None:
    """Check everything; what is wrong goes to the findings of the round."""
    found = round.findings
    found.runs = sum(map(len, history.runs.values()))
    losing = [fault for fault in round.happened if fault.may_lose]
    _nothing_is_lost(found, history, losing, durable=bool(round.plan.durable))
    _each_is_in_one_place(found, history)
    _each_has_one_outcome(found, history)
    _outcomes_are_fenced(found, history, losing)
    hits = _hits(round.happened, history)
    _runs_are_explained(found, history, hits, round.heartbeat)
    _recovery_is_quick(found, history, hits, Delays(round.happened, round.heartbeat))
    _nothing_leaks(found, history)
    _nobody_sleeps(found, round.happened)
    for text in round.odd.wrong():
        found.wrong(text)


def _nothing_is_lost(found: Findings, history: History, losing: "list[Happened]", *, durable: bool) -> None:
    lost = sorted(history.acknowledged.keys() - history.stored.keys())
    found.lost = len(lost)

    def is_excused(key: str) -> bool:
        at, process = history.acknowledged[key]
        is_ours = process.endswith(OUR_PRODUCERS)
        stays = 0.0 if is_ours else STAYS_SECONDS
        near = any(fault.began - ROLLED_BACK_SECONDS <= at <= fault.ended + stays for fault in losing)
        return near and not (durable and is_ours)

    if wrong := [key for key in lost if not is_excused(key)]:
        found.wrong(
            f"{len(wrong)} acknowledged jobs are lost: {[(key, history.acknowledged[key]) for key in wrong[:10]]}"
        )
    for key, jobs in history.stored.items():
        if len(jobs) > 1:
            found.wrong(f"{key} was added {len(jobs)} times: {jobs}")
        ends, attempts = expected_end(key)
        for job in jobs:
            if job.place not in ends and _node_gave_up(job, history):
                found.failed_by_node += 1
            elif job.place not in ends:
                found.wrong(f"{job} must be {' or '.join(ends)}")
            elif attempts < job.attempts <= _attempts_with_node(job, attempts, history):
                found.failed_by_node += 1
            elif job.attempts != attempts:
                found.wrong(f"{job} must have taken {attempts} attempts")


def _attempts_with_node(job: Stored, attempts: int, history: History) -> int:
    """How many attempts a job may have taken: BullMQ for Node fails a refused completion, and the job runs again."""
    ended = [run for run in history.runs.get(job.key, []) if run.ended is not None]
    unaccepted = sum(run.process.endswith("-node") and run.accepted is None for run in ended)
    return min(attempts + unaccepted, len(ended))


def _node_gave_up(job: Stored, history: History) -> bool:
    """Whether BullMQ for Node failed a job that it ran: it does when Redis refuses the call that completes the job."""
    runs = history.runs.get(job.key, [])
    return (
        job.place == "failed"
        and job.run is None
        and bool(runs)
        and max(runs, key=lambda run: run.began).process.endswith("-node")
    )


def _each_is_in_one_place(found: Findings, history: History) -> None:
    if several := [job for job, count in history.places.items() if count > 1]:
        found.wrong(f"{len(several)} jobs are in more than one place: {several[:10]}")
    if bare := [job for job, key in history.ids.items() if not key]:
        found.wrong(f"{len(bare)} jobs have no hash: {bare[:10]}")


def _each_has_one_outcome(found: Findings, history: History) -> None:
    several = {job: count for job, count in history.outcomes.items() if count > 1}
    if several:
        found.wrong(f"{len(several)} jobs have more than one outcome: {list(several.items())[:10]}")
    without = [job for job in history.places if not history.outcomes[job]]
    if without:
        found.wrong(f"{len(without)} jobs have no outcome among the events: {without[:10]}")


def _outcomes_are_fenced(found: Findings, history: History, losing: "list[Happened]") -> None:
    """No outcome of a run is accepted when another worker has the job since, by a server that kept its data."""
    for job in (job for jobs in history.stored.values() for job in jobs):
        run = history.by_name.get(job.run or "")
        if run is None or job.attempts != 1 or not (accepted := run.accepted or run.ended):
            continue
        later = [other for other in history.runs[job.key] if other.start > run.start and other.began < accepted]
        undone = [
            fault for fault in losing if fault.began - ROLLED_BACK_SECONDS <= accepted and run.began <= fault.ended
        ]
        if later and not undone:
            found.wrong(f"the outcome of {run} was accepted although {later[0]} had begun")


Hits = dict[str, list["Happened"]]


def _hits(happened: "list[Happened]", history: History) -> Hits:
    """Return by run the faults that may have hit it."""
    hits: Hits = defaultdict(list)
    by_second: dict[int, list[Happened]] = defaultdict(list)
    for fault in happened:
        # What a replica did not have yet is undone, so finished jobs run again, too.
        before = ROLLED_BACK_SECONDS if fault.may_lose else 0.0
        for second in range(int(fault.began - before), int(fault.ended + before) + 1):
            by_second[second].append(fault)
    for run in history.by_name.values():
        begins, ends = (
            run.began - CLAIM_SECONDS,
            (run.accepted or run.ended or run.began + LOCK_MS / 1000) + REPLY_SECONDS,
        )
        near = {id(fault): fault for second in range(int(begins), int(ends) + 1) for fault in by_second[second]}
        for fault in near.values():
            before = ROLLED_BACK_SECONDS if fault.may_lose else 0.0
            is_victim = fault.victims is None or run.process in fault.victims
            if is_victim and fault.began - before <= ends and fault.ended + before >= begins:
                hits[run.name].append(fault)
    return hits


def _runs_are_explained(found: Findings, history: History, hits: Hits, heartbeat: Heartbeat) -> None:
    found.in_hand = sum(map(len, hits.values()))
    for key, runs in history.runs.items():
        attempts = max((job.attempts for job in history.stored[key]), default=1) if key in history.stored else 1
        extra = len(runs) - max(1, attempts)
        if extra <= 0:
            continue
        found.repeated += extra
        if extra > sum(1 for run in runs if hits.get(run.name)):
            if any(heartbeat.lost(run.began - CLAIM_SECONDS, run.began) > STARVED_SECONDS for run in runs):
                found.starved += 1
                continue
            found.wrong(f"{key} ran {extra} times more than {attempts}, and no fault explains it: {runs}")


class Delays:
    """What may delay a recovery: faults that hit everybody, one after the other, and what the machine takes."""

    def __init__(self, happened: "list[Happened]", heartbeat: Heartbeat) -> None:
        self._heartbeat = heartbeat
        lasting = [one for one in happened if one.victims is None and one.ended - one.began >= LASTS_SECONDS]
        self._times = sorted((one.began, one.ended + COMES_BACK_SECONDS) for one in lasting)

    def between(self, began: float, ended: float) -> float:
        """Return the seconds between two times that do not count."""
        total, at = self._heartbeat.lost(began, ended), began
        for first, last in self._times:
            total += max(0.0, min(last, ended) - max(first, at))
            at = max(at, last)
        return total


def _recovery_is_quick(found: Findings, history: History, hits: Hits, delays: Delays) -> None:
    last: dict[int, float] = {}
    names: dict[int, Happened] = {}
    for key, jobs in history.stored.items():
        runs = history.runs.get(key, [])
        outcome = max((at for job in jobs if (at := history.outcome_at(job))), default=None)
        if outcome is None or len(jobs) != 1:
            continue
        touched = [fault for run in runs for fault in hits.get(run.name, ()) if _was_open(run, fault, outcome)]
        if not touched:
            continue
        # Of several faults, the last one decides when the job could go on.
        fault = max(touched, key=lambda one: one.ended)
        names[id(fault)] = fault
        last[id(fault)] = max(last.get(id(fault), 0.0), outcome - fault.ended)
        # It counts from the last one that hit a run; faults for everybody that came later only add their own time.
        ended = max((one.ended for one in touched if any(_was_hit(run, one) for run in runs)), default=fault.ended)
        if expected_end(key)[1] == 1 and outcome - ended > RECOVERY_SECONDS:
            waited = outcome - ended - delays.between(ended, outcome)
            if waited > RECOVERY_SECONDS:
                found.wrong(
                    f"{key} had its outcome {waited:.1f} s after the last fault that hit it, {fault.name}: {runs}"
                )
    for number, fault in names.items():
        found.recoveries[fault.name].append(max(0.0, last[number]))


def _was_open(run: Run, fault: "Happened", outcome: float) -> bool:
    return run.began <= fault.ended and fault.began <= outcome and (run.accepted or run.ended or outcome) >= fault.began


def _was_hit(run: Run, fault: "Happened") -> bool:
    """Whether the fault happened while the handler ran, or its outcome was on its way."""
    over = run.accepted or (run.ended or run.began) + REPLY_SECONDS
    return run.began - REPLY_SECONDS <= fault.ended and fault.began <= over


def _nothing_leaks(found: Findings, history: History) -> None:
    strange = []
    for key in history.keys_left:
        stem = PARTS.sub("", key)
        if key not in KNOWN_KEYS and stem not in history.places and not key.startswith(BATCHES):
            strange.append(key)
    if strange:
        found.wrong(f"{len(strange)} keys are left over: {sorted(strange)[:10]}")
    for kind, descriptors, threads, later_descriptors, later_threads in found.footprints:
        if kind in OURS and later_descriptors > descriptors + MORE_DESCRIPTORS:
            found.wrong(f"a worker ({kind}) had {descriptors} descriptors and has {later_descriptors}")
        if kind in OURS and later_threads > threads + MORE_THREADS:
            found.wrong(f"a worker ({kind}) had {threads} threads and has {later_threads}")


def _nobody_sleeps(found: Findings, happened: "list[Happened]") -> None:
    for one in found.asleep:
        if not one.is_explained(happened):
            found.wrong(
                f"{one.jobs} jobs were ready, {one.workers} workers with room slept, and no fault explains {one}"
            )
