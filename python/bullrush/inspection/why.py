"""Why a job does not run, or what happened to it: one sentence, made of what Redis says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.base.due import STUCK_AFTER
from bullrush.errors import MalformedJobError

if TYPE_CHECKING:
    from bullrush.base.due import DueWork
    from bullrush.inspection.place import Place
    from bullrush.job.fields import JobFields

#: So many children, and jobs that hold a slot, are named.
SHOWN: Final = 3
#: Why a job fails that has stalled too often, in BullMQ's words.
_STALLED: Final = "job stalled more than allowable limit"
#: Longer texts of errors are cut.
_LONGEST: Final = 200
#: Shorter times are said in ms.
_SHORT: Final = 100
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))


@dataclass(frozen=True)
class Why:
    """Why a job does not run, or what happened to it.

    Attributes:
        queue: the name of the job's queue.
        job_id: the id of the job.
        state: as `Job.get_state` names it; ``unknown`` if the job is in no list or set.
        sentence: the reason, with numbers.
        reasons: the same for programs, the most important one first. A job that waits: ``paused``, ``no-worker``,
            ``deaf-workers``, ``concurrency``, ``rate-limit``, ``position``; or ``next`` if nothing keeps it. A delayed
            one: ``delay``, ``backoff``, ``scheduler`` or ``overdue``, then as one that waits. Others: ``children``,
            ``failed-child``, ``running``, ``claimed``, ``no-lock``, ``completed``, ``failed``, ``no-data``, ``lost``,
            ``gone``.
        position: at which place it waits, 1 for the next one; None if it does not wait.
    """

    queue: str
    job_id: str
    state: str
    sentence: str
    reasons: tuple[str, ...]
    position: int | None = None


class Child(NamedTuple):
    """A child that has not finished as its parent wants it.

    Attributes:
        key: its key in Redis.
        state: its state; None if it cannot be known here.
    """

    key: str
    state: str | None


@dataclass(frozen=True)
class Seen:
    """What is known of a job and its queue.

    Attributes:
        queue: the name of the queue.
        job_id: the id of the job.
        job: its fields; None without a hash.
        place: where it is.
        work: what is due in its queue.
        workers: how many workers are connected for this queue; None if Redis does not list them.
        takers: how many of them take this job, if it waits.
        is_route: its jobs have a target: only workers with a matching profile take them.
        holders: some jobs that are active, the oldest first.
        children: how many children it has had.
        open_children: some of those that are open.
        child_failure: why the child failed that let this job fail; None if none did, or if it is gone.
    """

    queue: str
    job_id: str
    job: JobFields | None
    place: Place
    work: DueWork
    workers: int | None = None
    takers: int | None = None
    is_route: bool = False
    holders: Sequence[JobFields] = ()
    children: int = 0
    open_children: Sequence[Child] = ()
    child_failure: str | None = None


def explain(seen: Seen) -> Why:
    """Say why a job does not run, or what happened to it."""
    state = seen.place.state
    if state is None:
        reason, sentence = _nowhere(seen)
        return Why(seen.queue, seen.job_id, "unknown", sentence, (reason,))
    if seen.job is None:
        sentence = "Its id is listed, and its data is gone: the next worker that takes the id drops it."
        return Why(seen.queue, seen.job_id, state, sentence, ("no-data",), _position(seen))
    reasons, sentence = _BY_STATE[state](seen, seen.job)
    return Why(seen.queue, seen.job_id, state, sentence, reasons, _position(seen))


def span(milliseconds: int) -> str:
    """Return a length of time in words, such as ``12 ms``, ``0.4 s``, ``12 s`` or ``3 min``."""
    for length, unit in _UNITS:
        if milliseconds >= 2 * length:
            return f"{milliseconds // length} {unit}"
    if 0 < milliseconds < _SHORT:
        return f"{milliseconds} ms"
    seconds = max(milliseconds, 0) / 1_000
    return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{seconds:.0f} s"


def _position(seen: Seen) -> int | None:
    return None if seen.place.ahead is None else seen.place.ahead + 1


def _nowhere(seen: Seen) -> tuple[str, str]:
    if seen.job is None:
        return "gone", f"The queue {seen.queue!r} has no job {seen.job_id!r}: it was removed, or never added."
    return (
        "lost",
        "Its data is there, and no list has its id, so nobody can take it. 'bullrush doctor --deep' says more.",
    )


def _waiting(seen: Seen, _: JobFields) -> tuple[tuple[str, ...], str]:
    obstacles = [*_closed(seen), *_limits(seen)]
    ahead = seen.place.ahead or 0
    if ahead:
        obstacles.append(("position", f"{_counted(ahead, 'job')} {'starts' if ahead == 1 else 'start'} before it"))
    if not obstacles:
        return ("next",), "It is the next one: it starts when a worker has a free slot."
    return tuple(reason for reason, _ in obstacles), f"It waits: {'; '.join(text for _, text in obstacles)}."


def _closed(seen: Seen) -> list[tuple[str, str]]:
    """Return what keeps all jobs of the queue from starting, until somebody does something."""
    found = []
    if seen.work.paused:
        found.append(("paused", "the queue is paused"))
    if seen.takers == 0:
        found.append(("no-worker", _who_is_missing(seen)))
    elif seen.takers and seen.work.is_ignored(STUCK_AFTER):
        found.append(("deaf-workers", _who_is_deaf(seen.takers)))
    return found


def _who_is_missing(seen: Seen) -> str:
    if seen.is_route:
        return "no worker has the profile that its target needs"
    if not seen.workers:
        return "no worker is connected"
    workers = _counted(seen.workers, "connected worker")
    takes = "takes" if seen.workers == 1 else "take"
    return f"the {workers} {takes} only jobs with a target that {'it fits' if seen.workers == 1 else 'they fit'}"


def _who_is_deaf(workers: int) -> str:
    if workers == 1:
        return "the connected worker takes no job"
    return f"none of {workers:,} connected workers takes a job"


def _limits(seen: Seen) -> list[tuple[str, str]]:
    work, found = seen.work, []
    if work.slots is not None and work.active >= work.slots:
        held = f"all slots of the global concurrency ({work.slots:,}) are taken"
        found.append(("concurrency", held + _by(seen)))
    left = "" if work.period_left is None else f" for {span(work.period_left)} more"
    if work.rate_reached and work.rate is None:
        # Nobody but a worker knows whether it has a limiter.
        heeded = f"a call of rate_limit lets workers that have a limiter start no job{left}; all others ignore it"
        found.append(("rate-limit", heeded))
    elif work.rate_reached and work.rate is not None:
        rate = f"{_counted(work.rate[0], 'start')} per {span(work.rate[1])}"
        found.append(("rate-limit", f"the rate limit of {rate} lets no job start{left}"))
    elif work.limited_by_workers:
        found.append(("rate-limit", "perhaps the rate limit of the workers, which only they know, is reached"))
    return found


def _by(seen: Seen) -> str:
    named = [
        f"{job.id} for {span(seen.place.now - job.processed_on)}" if job.processed_on else job.id
        for job in seen.holders[:SHOWN]
    ]
    more = ", ..." if seen.work.active > len(named) else ""
    return f" (by {', '.join(named)}{more})" if named else ""


def _delayed(seen: Seen, job: JobFields) -> tuple[tuple[str, ...], str]:
    due = seen.place.due or seen.place.now
    left = due - seen.place.now
    kind, cause = _cause_of_delay(job)
    closed = _closed(seen)
    if left <= 0:
        reasons = ("overdue", *(reason for reason, _ in closed))
        what = "; ".join(text for _, text in closed) or "the next worker that looks for jobs moves it to the others"
        return reasons, f"It has been due for {span(-left)} ({cause}): {what}."
    besides = f" Besides, {' and '.join(text for _, text in closed)}." if closed else ""
    return (kind, *(reason for reason, _ in closed)), f"It starts in {span(left)} at the earliest: {cause}.{besides}"


def _cause_of_delay(job: JobFields) -> tuple[str, str]:
    if job.attempts_made and job.failed_reason is not None:
        attempts = _of_attempts(job.attempts_made, job)
        return "backoff", f"a back-off after attempt {attempts} failed with {_short(job.failed_reason)}"
    if job.repeat_job_key is not None:
        return "scheduler", f"the next run of the scheduler {job.repeat_job_key}"
    return "delay", "it has a delay"


def _waiting_children(seen: Seen, _: JobFields) -> tuple[tuple[str, ...], str]:
    count = seen.place.open_children
    if not count and not seen.children:
        return ("children",), (
            "It waits for children and has none: each of them existed, and belongs to another parent or to none. "
            "Nothing starts it: remove it, and add it with a child of its own."
        )
    if not count:
        return ("children",), "All its children have finished: it starts as soon as the last of them has said so."
    shown = [f"{child.key} ({child.state})" if child.state else child.key for child in seen.open_children[:SHOWN]]
    more = ", ..." if count > len(shown) else ""
    children = _counted(max(seen.children, count), "child", "children")
    text = f"It waits for {count:,} of {children}: {', '.join(shown)}{more}."
    if any(child.state == "failed" for child in seen.open_children):
        return ("failed-child", "children"), (
            f"{text} A child that has failed does not come back by itself: retry or remove it. Its options did not say "
            "what its failure means here (fail_parent_on_failure and the like)."
        )
    return ("children",), text


def _active(seen: Seen, job: JobFields) -> tuple[tuple[str, ...], str]:
    where = f" by the worker {job.processed_by}" if job.processed_by else ""
    if seen.place.lock_ttl is None:
        what = (
            "no worker is connected that would take it back"
            if seen.workers == 0
            else ("workers that look for stalled jobs take it back")
        )
        return ("no-lock",), f"It was taken{where}, and its lock has expired: that worker has probably died; {what}."
    if job.processed_on is None or not job.attempts_started:
        return ("claimed",), f"It was claimed{where}, and starts there when a slot is free."
    attempt = _of_attempts(job.attempts_made + 1, job)
    lasts = "has no end" if seen.place.lock_ttl < 0 else f"holds for {span(seen.place.lock_ttl)}"
    gone = (
        " No worker is connected: this one closes, and ends its jobs, or it is gone. Then the lock is not renewed, and "
        "the job runs again after it."
        if seen.workers == 0
        else ""
    )
    return ("running",), (
        f"It has run for {span(seen.place.now - job.processed_on)}{where}, attempt {attempt}; its lock {lasts}.{gone}"
    )


def _completed(seen: Seen, job: JobFields) -> tuple[tuple[str, ...], str]:
    return ("completed",), f"It completed{_ended(seen, job)}."


def _failed(seen: Seen, job: JobFields) -> tuple[tuple[str, ...], str]:
    attempts, reason = _of_attempts(job.attempts_made, job), job.failed_reason or ""
    if reason == _STALLED:
        return ("failed",), (
            f"It failed for good{_ended(seen, job)}, since it had stalled more often than max_stalled_count allows: "
            "each time its worker died while it ran, was stopped before its end, or could not renew its lock."
        )
    if (child := failed_child(reason)) is not None:
        why = "" if seen.child_failure is None else f": {_short(seen.child_failure)}"
        at = "" if job.finished_on is None else f" {span(seen.place.now - job.finished_on)} ago"
        return ("failed", "failed-child"), f"It failed for good{at} without a run, since its child {child} failed{why}"
    return ("failed",), f"It failed for good{_ended(seen, job)}, attempt {attempts}: {_short(reason)}"


def failed_child(reason: str) -> str | None:
    """Return the key of the child whose failure is the reason why its parent failed; None for another reason."""
    start, key, end = reason[:6], reason[6:-7], reason[-7:]
    return key if (start, end) == ("child ", " failed") and " " not in key else None


def _ended(seen: Seen, job: JobFields) -> str:
    if job.finished_on is None:
        return ""
    ran = "" if job.processed_on is None else f" after it had run for {span(job.finished_on - job.processed_on)}"
    by = f" in the worker {job.processed_by}" if job.processed_by else ""
    return f" {span(seen.place.now - job.finished_on)} ago{ran}{by}"


def _of_attempts(attempt: int, job: JobFields) -> str:
    try:
        most = job.opts.get("attempts")
    except MalformedJobError:
        most = None
    return f"{attempt} of {most}" if isinstance(most, int) and most >= attempt else str(attempt)


def _short(text: str) -> str:
    line = (text.splitlines() or [""])[0]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


_BY_STATE: Final[dict[str, Callable[[Seen, JobFields], tuple[tuple[str, ...], str]]]] = {
    "waiting": _waiting,
    "prioritized": _waiting,
    "delayed": _delayed,
    "waiting-children": _waiting_children,
    "active": _active,
    "completed": _completed,
    "failed": _failed,
}
