"""The calls that move a queue of Bull to BullMQ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bullrush.errors import LegacyQueueError
from bullrush.extending import FINISHED, QueueCalls, now_ms, operation, read_number, reply
from bullrush.extending import STATES as TARGET_STATES
from bullrush.legacy.bridging.remembered import decoded_object
from bullrush.legacy.bridging.watch import clients_of
from bullrush.legacy.convert import UNNAMED, Order, Rules, TakenIds
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.abandoned import WAIT, Abandoned
from bullrush.legacy.migrating.claims import check_claims, check_forgettable, check_signpost
from bullrush.legacy.migrating.migration import STATE_OF, Migration
from bullrush.legacy.migrating.moved import Ids, Mover
from bullrush.legacy.migrating.movers import claiming_mover, ids_of, repeating, slot_mover, source_at
from bullrush.legacy.migrating.options import Options, check_options, check_rules, check_target, place
from bullrush.legacy.migrating.pausing import look_at_pause, pause_as_bull, pausing_field, remark_on
from bullrush.legacy.migrating.registering import register
from bullrush.legacy.migrating.servers import core_of, names_server
from bullrush.legacy.migrating.signpost import leads_to, leave_signpost, remove_signpost
from bullrush.legacy.migrating.survey import NewId, NewIdsOf, Survey
from bullrush.legacy.reading import STATES, count_states, read_all
from bullrush.legacy.report import GivenBack, MigrationReport, OnProgress, Remark, Verification
from bullrush.legacy.signpost import read_signpost

#: So many finished jobs of each state are deleted per script.
_CLEANED: Final = 100
#: So many entries are read by one HSCAN.
_SCANNED: Final = 500
#: So many jobs that are left are listed.
_LISTED: Final = 1000
#: The states of the other queue whose jobs its workers take.
_READY: Final = ("waiting", "prioritized")
_NOT_MOVED: Final = "not moved yet: run the migration again"


class LegacyMigrating(LegacyBase):
    """The calls that move a queue of Bull to BullMQ."""

    @operation
    @names_server
    async def migrate(
        self,
        to: QueueCalls[Any],
        *,
        order: Order = "keep",
        history: int = 0,
        default_name: str = UNNAMED,
        keep_backoff: bool = False,
        tz: str | None = None,
        taken_ids: TakenIds = "skip",
        merge: bool = False,
        legacy_workers_stopped: bool = False,
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
    ) -> MigrationReport:
        """Move the jobs to a queue of BullMQ. Producers and workers of both may go on meanwhile.

        Each job is in exactly one of the queues at any time, whatever happens to this program: run it again after a
        crash. It ends when no job waits; jobs that producers of Bull add later need another run, or `bridge`.
        Repeatable jobs become job schedulers, ``legacy-<hash>``. If the queue of Bull is paused, the other one is
        paused first; resume it yourself. While that of Bull stays paused, later runs leave it as it is, and note it.

        A signpost stays in the queue of Bull until `forget`, after `cleanup`, too: `Queue`, `Worker` and the other
        classes raise a `LegacyQueueError` that says where the jobs have gone, unless ``allow_legacy=True``.

        Redis: on the same server, two round trips per 100 jobs; one script per job. Else three round trips per 100
        jobs, and three scripts per job: a job is claimed here, added there, and then deleted here. A claimed job is in
        no list that Bull's workers look at; after a crash the next run goes on with the claims at once.

        Args:
            to: the queue that the jobs go to. On the same server and database (and on a cluster with the same hash tag)
                one script moves a job.
            order: ``keep`` lets waiting jobs run in the order in which Bull would run them, and forgets their
                priorities. ``priority`` gives those with a priority to BullMQ's priorities: they run after all others
                there. Delayed jobs and repeatables keep their priority with both.
            history: how many of the newest completed and of the newest failed jobs move, too. The others stay until
                `cleanup`.
            default_name: the name of jobs without one.
            keep_backoff: exponential backoff keeps Bull's delays: the workers need
                ``backoff_strategy=bullrush.legacy.bull_backoff``.
            tz: the time zone of cron patterns that have none, such as ``Europe/Paris``. Without it that of whichever
                worker makes the next job counts.
            taken_ids: what becomes of a job whose id another job has in ``to``. With ``skip`` it stays and is among
                ``left``; with ``rename`` it gets the id ``<queue>-<id>``, with the name of this queue, unless that is
                taken, too.
            merge: the other queue may have jobs; they may also if the signpost leads there: an earlier run has moved
                them.
            legacy_workers_stopped: no worker of Bull runs any more, so jobs that are active move, too, when nobody has
                held their lock for 30 s (Bull 1 and 2: 10 s).
            dry_run: write nothing, and report what would be moved.
            on_progress: is called with a `Progress` after every batch.

        Raises:
            InvalidOptionError: an argument is wrong, or ``to`` is this queue itself.
            LegacyQueueError: the queue is not one of Bull, or nobody can tell; ``to`` has jobs and ``merge`` is False;
                ``legacy_workers_stopped`` is True and a worker still renews a lock. Nothing was moved.
        """
        here = place(self._url)
        options = check_options(
            check_rules(order, default_name, keep_backoff, taken_ids, tz),
            history,
            merge=merge,
            legacy_workers_stopped=legacy_workers_stopped,
            dry_run=dry_run,
        )
        target = check_target(to, self.qualified_name, here)
        source = source_at(self, target)
        await self._check_known()
        survey = Survey(self.core, self.qualified_name)
        before = await count_states(self, STATES)
        report = MigrationReport(before=before, notes=await survey.keys(), dry_run=options.dry_run)
        if options.dry_run:
            await check_signpost(self, target)
            await self._rehearse(target, options, survey, report)
            return report

        abandoned = Abandoned(self.core, self.qualified_name, WAIT[self._layout or "4"])
        if options.legacy_workers_stopped:
            await abandoned.check_stopped()
        decision = await self._open(target, source, options, report)
        claiming = claiming_mover(self, target, options.rules, decision)
        mover: Mover = await slot_mover(self, target, options.rules, decision) or claiming
        repeatables = await repeating(self, target, options.rules)
        total = sum(count for state, count in before.items() if state not in (*FINISHED, "active"))
        migration = Migration(
            self.core,
            self.qualified_name,
            mover=mover,
            repeating=repeatables,
            report=report,
            total=total,
            on_progress=on_progress,
        )
        migration.add(await claiming.recover())
        await migration.move_waiting()
        if options.legacy_workers_stopped:
            await migration.move_active(await abandoned.ids())
            await migration.move_waiting()
        else:
            report.left += await survey.active()
        await migration.note_repeatables()
        for state in FINISHED:
            known = await self._history_of(target, state)
            await migration.move_finished(state, await survey.newest(state, options.history - known))
        migration.finish()
        report.after = await count_states(self, STATES)
        return report

    @operation
    @names_server
    async def verify(self, to: QueueCalls[Any]) -> Verification:
        """Return the number of jobs of both queues, what is left in this one, and which programs with Bull use it.

        Redis: a few round trips, and one per 100 jobs that are left.

        Args:
            to: the queue that the jobs go to.

        Raises:
            InvalidOptionError: ``to`` is no queue, or this queue itself.
            LegacyQueueError: there is no such queue, and was none that has moved; or it is not one of Bull.
        """
        target = check_target(to, self.qualified_name, place(self._url))
        await self._check_known()
        await check_signpost(self, target)
        survey = Survey(self.core, self.qualified_name)
        counts = await reply(core_of(target).get_counts(list(TARGET_STATES.values())))
        new_ids_of = _new_ids_of(self, target, Rules(), await self._ids_to_be(target, counts, merge=True))
        found = Verification(await count_states(self, STATES), dict(zip(TARGET_STATES, counts, strict=True)))
        for name in ("wait", "paused", "delayed", "repeat"):
            command = "LRANGE" if name in ("wait", "paused") else "ZRANGE"
            [ids] = await read_all(self, [[command, self.to_key(name), 0, _LISTED - 1]])
            state = STATE_OF.get(name, name)
            reasons = [_NOT_MOVED] * len(ids) if name == "repeat" else await survey.reasons(ids, _NOT_MOVED, new_ids_of)
            found.left += [
                Remark(id.decode(errors="replace"), state, why) for id, why in zip(ids, reasons, strict=True)
            ]
        found.left += await survey.active() + await survey.claimed()
        found.clients = await clients_of(self.core)
        return found

    @operation
    @names_server
    async def give_back(self, to: QueueCalls[Any]) -> GivenBack:
        """Give the jobs that an interrupted move or bridge has claimed back to Bull, whose workers then run them.

        They go to the places from which they were claimed; those that waited run next, in their order. A job that the
        other queue has got already stays there. Jobs that have moved do not come back. End all moves and bridges of
        the queue before: one that runs goes on to claim jobs.

        It may be repeated, and be interrupted: no job gets lost, and none is in both queues.

        Redis: one round trip, and three per 100 jobs: two scripts per job.

        Args:
            to: the queue that the jobs were on their way to, under the same URL as in the move.

        Raises:
            InvalidOptionError: ``to`` is no queue, or this queue itself.
            LegacyQueueError: the queue is not one of Bull; or ``to`` is not the queue to which the signpost leads, or
                does not know of the move, so nobody can tell which jobs it has got. Nothing was changed.
        """
        target = check_target(to, self.qualified_name, place(self._url))
        await self._check_known()
        report = GivenBack()
        if await check_claims(self, target):
            if await read_signpost(self) is None:
                raise LegacyQueueError(
                    f"queue {self.qualified_name} has no signpost, so nobody can tell to which queue its claimed jobs "
                    "were on their way: run the migration again"
                )
            await claiming_mover(self, target, Rules(), "kept").give_back(report)
        return report

    @operation
    @names_server
    async def cleanup(self, to: QueueCalls[Any] | None = None) -> int:
        """Delete the keys of this queue, and its finished jobs, when no job is left that still has to run.

        A debounce key of Bull (``de:<id>``) goes with its job. One whose job is gone stays: nothing lists them. The
        signpost stays until `forget`.

        Redis: one script per 200 finished jobs; with ``to`` one round trip per 500 jobs that a bridge mirrors.

        Args:
            to: the queue that the jobs went to; what it remembers of the migration is deleted, too.

        Returns:
            How many keys were deleted.

        Raises:
            LegacyQueueError: jobs or repeatable jobs are left, or the queue is not one of Bull, or callers still wait
                for jobs that a bridge with ``mirror`` has moved to ``to``. Nothing more was deleted.
        """
        target = None if to is None else check_target(to, self.qualified_name, place(self._url))
        await self._check_owner()
        if target is not None:
            await check_signpost(self, target)
            await self._check_mirrored(target)
        deleted, more = 0, 1
        while more:
            [answer] = await reply(self.core.legacy_calls("cleanup", [[_CLEANED]]))
            if isinstance(answer, bytes):
                raise LegacyQueueError(
                    f"queue {self.qualified_name} has entries in {answer.decode()} still: see verify(), and run the "
                    "migration again"
                )
            deleted += answer[0]
            more = answer[1]
        if target is not None:
            await self._forget(target)
        return deleted

    @operation
    async def forget(self) -> bool:
        """Remove the signpost to the queue to which the jobs have moved: other programs may use the keys again.

        No job is touched. While jobs of Bull wait, as when you have gone back to Bull, programs
        with Bull go on, and `Queue` and `Worker` are refused as for any queue of Bull. Else the name is free, and
        programs with Bull that still add jobs share it with whoever takes it. The next `migrate` may go to any queue:
        with ``merge=True``, if that one has jobs of its own. Redis: two round trips.

        Returns:
            Whether there was a signpost.

        Raises:
            LegacyQueueError: jobs are claimed by a move that was interrupted: only the signpost says which queue knows
                about them.
        """
        await check_forgettable(self)
        return await remove_signpost(self)

    async def _check_known(self) -> None:
        """Check that this is a queue of Bull, or was one that has been moved."""
        _, shown_by = await self._find_out()
        if self._layout is None and not shown_by and await read_signpost(self) is None:
            await self._require_layout()

    async def _open(self, target: QueueCalls[Any], source: str, options: Options, report: MigrationReport) -> Ids:
        """Register the migration, and pause the other queue if this one is; return whether jobs keep their ids."""
        await check_claims(self, target)
        last_id = await Survey(self.core, self.qualified_name).last_id()
        decision = await register(self, target, source, last_id, merge=options.merge)
        # Before the signpost: no run may think that another one has paused the queue, which was killed before.
        report.notes += remark_on(await pause_as_bull(self, target), _to_run(report))
        await leave_signpost(self, target)
        return decision

    async def _history_of(self, target: QueueCalls[Any], state: str) -> int:
        """Return how many finished jobs earlier runs have moved."""
        field = f"{self.qualified_name} {state}"
        [known] = await reply(core_of(target).commands([["HGET", target.to_key("ext:migration"), field]]))
        return read_number(known) or 0

    async def _check_mirrored(self, target: QueueCalls[Any]) -> None:
        """Check that the ends of all jobs stand in this queue for which a bridge has promised it."""
        source, key = source_at(self, target), target.to_key("ext:mirror")
        cursor: bytes | int = 0
        while True:
            [[cursor, found]] = await reply(core_of(target).commands([["HSCAN", key, cursor, "COUNT", _SCANNED]]))
            if any(decoded_object(stored).get("from") == source for stored in found[1::2]):
                raise LegacyQueueError(
                    f"jobs of queue {self.qualified_name} have not ended in queue {target.qualified_name}, and callers "
                    "may wait for them here: run the bridge with mirror=True until they have ended. Nothing was deleted"
                )
            if int(cursor) == 0:
                return

    async def _forget(self, target: QueueCalls[Any]) -> None:
        source = source_at(self, target)
        fields = [source, pausing_field(self, target), *(f"{self.qualified_name} {state}" for state in FINISHED)]
        await reply(core_of(target).commands([["HDEL", target.to_key("ext:migration"), *fields]]))
        await claiming_mover(self, target, Rules(), "kept").forget_tombstones(now_ms())

    async def _ids_to_be(self, target: QueueCalls[Any], counts: Sequence[int], *, merge: bool) -> Ids:
        """Return whether jobs would keep their ids."""
        key, source = target.to_key("ext:migration"), source_at(self, target)
        [known, used] = await reply(core_of(target).commands([["HGET", key, source], ["EXISTS", target.to_key("id")]]))
        if known is None and any(counts) and not merge and not await leads_to(self, target):
            raise LegacyQueueError(f"queue {target.qualified_name} has jobs: take an empty one, or say merge=True")
        return "l-" if known == b"l-" or (known is None and (used or any(counts))) else "kept"

    async def _rehearse(
        self, target: QueueCalls[Any], options: Options, survey: Survey, report: MigrationReport
    ) -> None:
        """Write to the report what a migration would do."""
        counts = await reply(core_of(target).get_counts(list(TARGET_STATES.values())))
        decision = await self._ids_to_be(target, counts, merge=options.merge)
        new_ids_of = _new_ids_of(self, target, options.rules, decision)
        there = dict(zip(TARGET_STATES, counts, strict=True))
        running = sum(there[state] for state in _READY)
        report.notes += remark_on(await look_at_pause(self, target), _to_run(report), running, dry_run=True)
        repeatables = await repeating(self, target, options.rules)
        times = {one.next for one in await repeatables.read()}
        noted, unreadable = await repeatables.rehearse()
        report.schedulers = len(noted)
        report.notes += [Remark(one.key, "repeat", note) for one, notes in noted for note in notes]
        report.left += [Remark(key, "repeat", reason) for key, reason in unreadable.items()]
        for name in ("wait", "paused", "delayed"):
            found = await survey.remarks(name, options.rules, new_ids_of, times)
            state = STATE_OF[name]
            if found.count:
                report.moved[state] = found.count
            report.renamed += found.renamed
            report.taken += found.taken
            report.left += [remark._replace(state=state) for remark in found.left]
            report.notes += [remark._replace(state=state) for remark in found.notes]
            for difference, count in found.differences.items():
                report.differences[difference] = report.differences.get(difference, 0) + count
        for state in FINISHED:
            ids = await survey.newest(state, options.history - await self._history_of(target, state))
            found_ids = await new_ids_of(ids)
            moved = [(id, new.id) for id, new in zip(ids, found_ids, strict=True) if new.id is not None]
            if moved:
                report.moved[state] = len(moved)
            report.renamed += sum(new != id for id, new in moved)
            report.taken += sum(new.is_taken for new in found_ids)
        report.left += await survey.active()
        report.after = dict(report.before)


def _to_run(report: MigrationReport) -> int:
    """Return how many jobs wait."""
    return report.before["waiting"] + report.before["paused"]


def _new_ids_of(queue: LegacyBase, target: QueueCalls[Any], rules: Rules, decision: Ids) -> NewIdsOf:
    """Return what tells the ids that jobs would get in a queue."""
    as_new = ids_of(queue, rules, decision)

    async def new_ids_of(ids: list[str]) -> list[NewId]:
        wanted = [[name for name in as_new(id) if name] for id in ids]
        commands = [["EXISTS", target.to_key(name)] for names in wanted for name in names]
        there = iter(await reply(core_of(target).commands(commands)) if commands else [])
        free = [[name for name in names if not next(there)] for names in wanted]
        return [
            NewId(names[0] if names else None, names[:1] != wants[:1])
            for names, wants in zip(free, wanted, strict=True)
        ]

    return new_ids_of
