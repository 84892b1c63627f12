"""Does a worker work? Facts of its engine, of Redis and of its event loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bullrush._core import WORKER_LOOPS, CoreQueue
from bullrush.base.due import SECOND_LOOK, DueWork, due_work
from bullrush.base.operation import reply, sleep
from bullrush.errors import BullrushError, RedisServerError
from bullrush.queue import Queue
from bullrush.queue.health import Problem
from bullrush.values.encoding import encode
from bullrush.worker.base import WorkerBase

if TYPE_CHECKING:
    from bullrush.worker.running.run import WorkerRun

#: A health check waits no longer for Redis, since who asks does not wait long.
_TIMEOUT_MS: Final = 1_000
#: What is due where Redis answers, and the user may not ask.
_REFUSED: Final = DueWork()


@dataclass(frozen=True)
class WorkerHealth:
    """Whether a worker runs, reaches Redis and claims the work that is due. Times are in ms.

    Attributes:
        queue: the name of the queue; of several, all names with commas.
        running: the worker takes jobs, or is paused.
        connected: Redis answered, and took the login.
        paused: the worker or the queue is paused.
        limited: the rate limit or the global concurrency lets no job start now, or the slots of its queue are full.
        in_hand: how many jobs this worker holds.
        timed_out: how many jobs have timed out while their functions run on and hold slots.
        concurrency: how many jobs, or batches, run at the same time.
        last_fetch_age: how long ago Redis answered to a request for jobs; None before the first answer.
        last_claim_age: how long ago such an answer had jobs.
        last_wait_age: how long ago the wait for new jobs began or ended; None if the worker has not waited.
        last_renewal_age: the same of the renewal of locks.
        missing_rights: what the user of the URL may not do, as the words of an ACL rule, such as ``+hset``.
        refusal: the code with which Redis refuses to give jobs, to take outcomes or to write anything now, such as
            ``OOM``; None while it does not.
        revived: how often the worker connected anew since a wait, a fetch or a renewal did not end in its time.
        oldest_due_age: for how long the oldest job of the queue that is due has waited; None if none is due.
        loop_lag: how late the worker's event loop runs a callback, as of the last half second; None without a loop.
        problems: what is wrong; empty if all is well.
    """

    queue: str
    running: bool
    connected: bool
    paused: bool
    limited: bool
    in_hand: int
    timed_out: int
    concurrency: int
    last_fetch_age: int | None
    last_claim_age: int | None
    last_wait_age: int | None
    last_renewal_age: int | None
    missing_rights: tuple[str, ...]
    refusal: str | None
    revived: int
    oldest_due_age: int | None
    loop_lag: int | None
    problems: tuple[Problem, ...]

    @property
    def healthy(self) -> bool:
        """True if there is no problem."""
        return not self.problems


class Monitor:
    """Looks how a worker does."""

    def __init__(self, worker: WorkerBase[Any]) -> None:
        self._worker = worker

    async def health(self, longest: int) -> WorkerHealth:
        """Return the health; awaited inside an operation."""
        work = await self._due_work()
        if stuck := self._seems_stuck(work, longest):
            await sleep(SECOND_LOOK)
            again = await self._due_work()
            stuck = (
                again.oldest_id == (work and work.oldest_id) and self._seems_stuck(again, longest) if again else False
            )
        run = self._worker._current
        stats = run.core.stats() if run else {}
        deaf = work is not None and any(stats.get(f"deaf_in_{loop}") for loop in WORKER_LOOPS)
        missing = tuple(run.core.missing_rights()) if run else ()
        refusal = run.core.refusal() if run else None
        if run is not None and work is not None and refusal is None:
            refusal = await self._refused_writes()
        unauthorized = bool(missing) or work is _REFUSED or refusal == "NOPERM"
        found = {
            "stopped": run is None or run.closing,
            "disconnected": work is None,
            "unauthorized": unauthorized,
            "refused": refusal is not None and not unauthorized,
            "deaf": deaf,
            "stuck": stuck,
        }
        problems: list[Problem] = [problem for problem, is_there in found.items() if is_there]  # type: ignore[misc]
        return WorkerHealth(
            queue=self._worker._shown_queues,
            running=run is not None and not run.closing,
            connected=work is not None,
            paused=self._worker._paused or (work is not None and work.paused),
            limited=work is not None and work.limited,
            in_hand=stats.get("in_hand", 0),
            timed_out=stats.get("overdue", 0),
            concurrency=self._worker._concurrency,
            last_fetch_age=_age(stats.get("answer_age", -1)),
            last_claim_age=_age(stats.get("claim_age", -1)),
            last_wait_age=_age(stats.get("wait_age", -1)),
            last_renewal_age=_age(stats.get("renewal_age", -1)),
            missing_rights=missing,
            refusal=refusal,
            revived=sum(stats.get(f"revived_by_{loop}", 0) for loop in WORKER_LOOPS),
            oldest_due_age=None if work is None else work.oldest_age,
            loop_lag=_loop_lag(run),
            problems=tuple(problems),
        )

    @cached_property
    def _monitors(self) -> dict[str, CoreQueue]:
        def monitor(name: str) -> CoreQueue:
            options = encode({"skip_metas_update": True, "timeout": _TIMEOUT_MS}, "options")
            return CoreQueue(self._worker._url, self._worker.prefix, name, options)

        return {name: monitor(name) for name in self._worker.queue_names}

    async def _due_work(self) -> DueWork | None:
        """Return what is due, None if Redis does not answer."""
        limiter, run = self._worker._settings.limiter, self._worker._current
        # Queues of which the worker may not take another job now. It has others beside them.
        full = run.core.full_queues() if run else []
        works = []
        try:
            for name, core in self._monitors.items():
                work = await due_work(core, limiter[0] if limiter else None)
                # A worker that lives takes jobs of dead ones back itself.
                works.append(replace(work, limited=work.limited or name in full, abandoned=False))
        except RedisServerError as error:
            return _REFUSED if error.code == "NOPERM" else None
        except BullrushError:
            return None
        # Of several queues the one whose job has waited longest, of those whose jobs may start.
        return max(works, key=lambda work: (not work.paused and not work.limited, work.oldest_age or 0))

    async def _refused_writes(self) -> str | None:
        """Return the code with which Redis refuses writes now: outcomes may still pass, and calls in handlers fail."""
        try:
            await reply(next(iter(self._monitors.values())).attempt_write())
        except RedisServerError as error:
            return None if error.code == "NOPERM" else error.code  # rights are looked at before
        except BullrushError:
            pass
        return None

    def _seems_stuck(self, work: DueWork | None, longest: int) -> bool:
        run = self._worker._current
        if work is None or run is None or run.closing or self._worker._paused:
            return False
        stats = run.core.stats()
        if run.core.refusal() is not None:
            return False  # it is known why, and another process would be refused, too
        if stats["isolated"] or stats["free_slots"] == 0:
            return False
        settings = self._worker._settings
        answered = _age(stats["answer_age"])
        if settings.routes_only or (settings.claim == "scan" and answered is not None and answered < longest):
            return False  # the jobs of the queue itself may be for others
        claimed = _age(stats["claim_age"])
        return work.is_stuck(run.age_ms if claimed is None else claimed, longest)


def _age(ms: int) -> int | None:
    return None if ms < 0 else ms


def _loop_lag(run: WorkerRun | None) -> int | None:
    """Return how late the loop of a run calls a function, in ms."""
    lag = run.loop_watch.lag if run and run.loop_watch else None
    return None if lag is None else round(lag * 1000)


def monitored_queue(worker: WorkerBase[Any], name: str, timeout: int) -> Queue:
    """Return a queue of a worker as an object that writes no settings and waits at most ``timeout`` ms."""
    url, prefix, allow_legacy = worker._url, worker.prefix, worker._settings.allow_legacy
    return Queue(name, url=url, prefix=prefix, timeout=timeout, skip_metas_update=True, allow_legacy=allow_legacy)
