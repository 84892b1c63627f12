"""Moves jobs to BullMQ for as long as programs add them to a queue of Bull."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Any, Final, Literal

from bullrush.errors import ClosedError, ConnectionLostError, InvalidOptionError, OutcomeUnknownError
from bullrush.extending import QueueCalls, checks, operation, sleep
from bullrush.legacy.bridging.bridge import Bridge
from bullrush.legacy.bridging.mirroring import Mirror
from bullrush.legacy.bridging.watch import Watch
from bullrush.legacy.convert import UNNAMED, Order, Rules, TakenIds
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.claiming import ClaimingMover
from bullrush.legacy.migrating.claims import check_claims
from bullrush.legacy.migrating.moved import Ids
from bullrush.legacy.migrating.movers import claiming_mover, repeating, slot_mover, source_at
from bullrush.legacy.migrating.options import check_rules, check_target, place
from bullrush.legacy.migrating.pausing import forget_pause, is_paused
from bullrush.legacy.migrating.registering import register
from bullrush.legacy.migrating.servers import core_of, names_server
from bullrush.legacy.migrating.signpost import leave_signpost
from bullrush.legacy.reading import read_all
from bullrush.legacy.report import BridgeReport, OnProgress, OnUse

_log: Final = logging.getLogger("bullrush")

#: How long the bridge waits before it looks for jobs again, seconds: it doubles while there are none.
_SHORTEST_WAIT: Final = 0.02
_LONGEST_WAIT: Final = 1.0
#: A call of `close` in another thread is noticed after so many seconds.
_SLICE: Final = 0.1


class LegacyBridging(LegacyBase):
    """The bridge."""

    @operation
    @names_server
    async def bridge(
        self,
        to: QueueCalls[Any],
        *,
        mirror: bool = False,
        merge: bool = False,
        until: Literal["empty"] | None = None,
        max_seconds: float | None = None,
        order: Order = "keep",
        default_name: str = UNNAMED,
        keep_backoff: bool = False,
        taken_ids: TakenIds = "skip",
        on_progress: OnProgress | None = None,
        on_use: OnUse | None = None,
    ) -> BridgeReport:
        """Move waiting and delayed jobs to a queue of BullMQ while programs go on adding them here, until `close`.

        Producers of Bull need no change, and workers of Bull may work the queue at the same time: each job runs in one
        of the two queues. Delayed jobs move at once, and stay delayed. Active and finished jobs stay. While the queue
        of Bull is paused, nothing moves. Repeatable jobs stay Bull's: each of their jobs moves when it is due, and the
        bridge schedules the next one here as a worker of Bull does. A run with ``migrate`` makes job schedulers of
        them. If a program adds such a repeatable again, the bridge removes it, and the scheduler gets its options.

        As `migrate` does, it leaves a signpost in the queue of Bull.

        The bridge ends at ``close()`` from another thread, when its task is cancelled, after ``max_seconds``, or when
        nothing is left to do. A batch that is under way is finished before. If its process is killed, at most 100 jobs
        stand in the key ``ext:claim`` of the queue of Bull, where its workers do not see them: the next ``bridge`` or
        ``migrate`` moves them at once, and none of them twice. Several bridges may run at the same time. While Redis is
        away the bridge waits for it, and logs one warning.

        Redis: five calls per 100 jobs, three of them in pipelines of one script call per job; without jobs one pipeline
        of reads, after 20 ms and then less often, at last once a second. While there are repeatables, two calls more.

        Args:
            to: the queue of BullMQ; on any server.
            mirror: True writes to the queue of Bull how its jobs ended, for callers that wait there: ``job.finished()``
                resolves or rejects. Until then a moved job is kept in the other queue, also where its options or its
                worker's say that it is to be removed. A job that is removed there by hand fails for its callers.
            merge: as for `migrate`: the other queue may have jobs.
            until: "empty": ends when no job waits or is delayed, and all ends are mirrored.
            max_seconds: ends after so many seconds.
            order: as for `migrate`. With ``keep`` waiting jobs lose their priority, also those that come while the
                bridge runs. ``priority`` keeps it: BullMQ runs such jobs after those without.
            default_name: the name of jobs that have none.
            keep_backoff: True keeps Bull's exponential delays, see `bullrush.legacy.backoff.bull_backoff`.
            taken_ids: as for `migrate`.
            on_progress: is called after every batch, with a `Progress`.
            on_use: is called with a `LegacyUse` at the start, and when it has changed: which programs with Bull are
                connected still, and whether `cleanup` is safe. The bridge looks every 5 s.

        Returns:
            What was moved, and who used the queue of Bull at the end.

        Raises:
            LegacyQueueError: the queue belongs to BullMQ or to both; or ``to`` has jobs and ``merge`` is False; or
                ``mirror`` is True and the version of Bull is not known. Nothing was moved.
            InvalidOptionError: an argument has an invalid value, or ``to`` is this queue itself.
        """
        mirrors, merges = checks.boolean("mirror", mirror), checks.boolean("merge", merge)
        if until not in (None, "empty"):
            raise InvalidOptionError(f'until must be "empty" or None, not {until!r}')
        seconds = None if max_seconds is None else checks.positive_seconds("max_seconds", max_seconds)
        deadline = None if seconds is None else time.monotonic() + seconds
        rules = check_rules(order, default_name, keep_backoff, taken_ids)
        target = check_target(to, self.qualified_name, place(self._url))
        self.core  # noqa: B018 - a queue that is closed already is refused
        try:
            bridge, claiming = await self._begin(target, rules, mirrors, on_progress, on_use, merge=merges)
        except ClosedError:  # `close` came first
            return BridgeReport()
        try:
            wait, away, recovered = _SHORTEST_WAIT, False, False
            while True:
                try:
                    if not recovered and not await bridge.is_paused():  # what was claimed before the pause waits, too
                        bridge.add(await claiming.recover())
                        recovered = True
                    bridge.add(await claiming.finish_open())  # what an outage has interrupted
                    busy = await bridge.round()
                    done = not busy and recovered and until == "empty" and await bridge.is_done()
                    away = False
                except (ConnectionLostError, OutcomeUnknownError) as error:  # each step may be repeated
                    if not away:
                        _log.warning("the bridge of queue %s waits for Redis: %s", self.qualified_name, error)
                    busy, done, away = False, False, True
                if done or self._shut or (deadline is not None and time.monotonic() >= deadline):
                    break
                if busy:
                    wait = _SHORTEST_WAIT
                    continue
                await self._wait(wait if deadline is None else min(wait, max(deadline - time.monotonic(), 0.0)))
                wait = min(wait * 2, _LONGEST_WAIT)
            if not away:
                with suppress(ConnectionLostError):
                    await bridge.look()
        except Exception:
            raise
        except BaseException:  # the task was cancelled, or Ctrl-C: no job is left half-way
            bridge.add(await claiming.finish_open())
            raise
        return bridge.report

    async def _begin(
        self,
        target: QueueCalls[Any],
        rules: Rules,
        mirrors: bool,
        on_progress: OnProgress | None,
        on_use: OnUse | None,
        *,
        merge: bool,
    ) -> tuple[Bridge, ClaimingMover]:
        """Check both queues and register the bridge. All handles are opened here: they may be closed meanwhile."""
        await self._check_owner()
        layout = await self._require_layout() if mirrors else None
        await check_claims(self, target)
        source = source_at(self, target)
        decision = await self._decide_ids(target, source, merge=merge)
        claiming = claiming_mover(self, target, rules, decision, mirror=mirrors)
        mover = claiming if mirrors else await slot_mover(self, target, rules, decision) or claiming
        mirror = None
        if layout is not None:
            mirror = Mirror(
                self.core,
                self.qualified_name,
                source=source,
                layout=layout,
                target=core_of(target),
                target_name=target.name,
                to_key=target.to_key,
            )
        watch = Watch(self.core, self.qualified_name, on_use)
        bridge = Bridge(
            self.core,
            self.qualified_name,
            mover,
            repeating=await repeating(self, target, rules),
            mirror=mirror,
            watch=watch,
            on_progress=on_progress,
        )
        return bridge, claiming

    async def _decide_ids(self, target: QueueCalls[Any], source: str, *, merge: bool) -> Ids:
        """Register the bridge at the other queue; return whether jobs keep their ids."""
        [last] = await read_all(self, [["GET", self.to_key("id")]])
        decision = await register(self, target, source, last or "", merge=merge)
        if not await is_paused(self):
            await forget_pause(self, target)
        await leave_signpost(self, target)
        return decision

    async def _wait(self, seconds: float) -> None:
        """Wait, and notice `close`."""
        end = time.monotonic() + seconds
        while not self._shut and (left := end - time.monotonic()) > 0:
            await sleep(min(left, _SLICE))
