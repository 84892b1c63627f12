"""Moves jobs of Bull to a queue on another server, or in another slot of a cluster.

No script can touch both queues, so a job moves in three steps, a batch at a time:

1. *Claim*, one script in the queue of Bull (``lua/legacy/claim_job.lua``): the id leaves its list and enters the hash
   ``ext:claim``. Bull looks at no such key, so no worker of Bull runs the job from then on, however long the next steps
   take. That is why a claimed job does not stand in ``active``: there a worker of Bull would take it over when its lock
   runs out, although it may have been added to the other queue.
2. *Add*, one script in the other queue (``receive_job.lua``): the job and its tombstone in ``ext:mig``. A claim adds
   its job once, however often this step is repeated, and by whom.
3. *Acknowledge*, one script in the queue of Bull (``acknowledge_job.lua``): the job's keys and the claim are deleted.

When a mover is killed, its claims stand in ``ext:claim``; the next one finishes them at once. It need not wait for
anything: if the first one lives after all, the tombstones see to it that a job is added once.

Claims can also be given back. Then the other queue decides first, by the script of step 2: a claim that has added its
job is acknowledged; one that has not gets another tombstone, after which it never adds, and its job goes back to Bull.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from bullrush.extending import now_ms, reply
from bullrush.legacy.bridging.remembered import keep_until_mirrored, remember
from bullrush.legacy.convert import Converted, Rules, convert, due_at
from bullrush.legacy.migrating.migration import STATE_OF
from bullrush.legacy.migrating.moved import BATCH, Moved, no_job, place_of
from bullrush.legacy.reading import fields_of
from bullrush.legacy.wrong_types import WrongType, read_keys

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue
    from bullrush.legacy.report import GivenBack

#: About so many bytes are moved at a time.
_BATCH_BYTES: Final = 4_000_000
#: How long clients of Bull cannot remove a claimed job, ms.
CLAIM_LOCK: Final = 30_000
#: How long a tombstone is kept, ms: a mover that was suspended for so long, and goes on, adds its last batch again.
_TOMBSTONE: Final = 24 * 3_600_000
#: What ``receive_job`` answers: another job has the id, or the job goes back to Bull.
_TAKEN: Final = -1
_BACK: Final = -2
_NO_LOG: Final = "its log was not moved: the key is no list"


class _Claim(NamedTuple):
    id: str
    token: str
    place: str

    @property
    def is_mirrored(self) -> bool:
        return self.token.endswith("m")


class ClaimingMover:
    """Moves jobs by claims. It belongs to one run; any number of runs may move jobs of the same queue at the same time.

    Args:
        legacy: the queue of Bull.
        base: its prefix and name.
        source: how the other queue calls it.
        target: the other queue.
        to_key: returns keys of the other queue.
        rules: how jobs are converted.
        new_ids: returns the id in the other queue, and the one to take if a job has that id; "" for none.
        mirror: callers wait for the ends of the jobs in the queue of Bull (see `mirroring`).
    """

    def __init__(
        self,
        legacy: CoreQueue,
        base: str,
        *,
        source: str,
        target: CoreQueue,
        to_key: Callable[[str], str],
        rules: Rules,
        new_ids: Callable[[str], tuple[str, str]],
        mirror: bool = False,
    ) -> None:
        self._legacy, self._base, self._source = legacy, base, source
        self._target, self._to_key = target, to_key
        self._rules, self._new_ids = rules, new_ids
        # The claim says whether the job is mirrored: another run may have to finish it.
        self._run = f"{now_ms():x}", uuid4().hex[:12] + ("m" if mirror else "")
        self._claimed = 0
        self._open: list[_Claim] = []
        #: How many jobs the next batch may have.
        self.size: int = BATCH

    async def move(self, place: str, ids: Sequence[str]) -> list[Moved]:
        """Move jobs out of a list or set, in this order; those that are not there any more are left out.

        Args:
            place: wait, paused, delayed, active, completed or failed. An active job that is locked is not moved.
            ids: the ids of the jobs.
        """
        return await self._finish([_Claim(id, self._new_token(), place) for id in ids])

    async def recover(self) -> list[Moved]:
        """Finish the claims that earlier runs have left, and forget old tombstones."""
        moved: list[Moved] = []
        claims = await self._read_claims()
        for at in range(0, len(claims), self.size):
            moved += await self._finish(claims[at : at + self.size])
        await self.forget_tombstones(now_ms() - _TOMBSTONE)
        return moved

    async def give_back(self, report: GivenBack) -> None:
        """Give the claimed jobs back to their places in the queue of Bull, unless the other queue has got them."""
        claims = await self._read_claims()
        claims.reverse()  # a job that goes back to `wait` runs next, so the oldest goes last
        for at in range(0, len(claims), BATCH):
            batch = claims[at : at + BATCH]
            now = now_ms()
            calls: list[list[int | str | bytes]] = [
                [now, self._tombstone(claim), claim.id, "", "back", "", "", "", 0] for claim in batch
            ]
            answers = zip(batch, await self._add(calls), strict=True)
            free = {claim: answer == _BACK for claim, answer in answers}
            back, arrived = [one for one in batch if free[one]], [one for one in batch if not free[one]]
            returned = await self._call_legacy("return_job", [[claim.id, claim.token] for claim in back])
            await self._acknowledge(arrived)
            for claim, done in zip(back, returned, strict=True):
                if done:
                    state = STATE_OF[claim.place]
                    report.returned[state] = report.returned.get(state, 0) + 1
            report.arrived += len(arrived)

    async def finish_open(self) -> list[Moved]:
        """Finish the batch that was interrupted, if any."""
        return await self._finish(self._open) if self._open else []

    async def _read_claims(self) -> list[_Claim]:
        """Return all claims, the oldest first."""
        [found] = await reply(self._legacy.commands([["HGETALL", f"{self._base}:ext:claim"]]))
        return sorted(map(_read_claim, fields_of(found).items()), key=_age)

    def _tombstone(self, claim: _Claim) -> str:
        return f"{self._source} {claim.token} {claim.id}"

    def _new_token(self) -> str:
        self._claimed += 1
        started, run = self._run
        return f"{started}-{self._claimed:x}-{run}"

    async def _finish(self, claims: list[_Claim]) -> list[Moved]:
        """Take jobs through all three steps; each may have been done before."""
        self._open = claims
        taking = self._legacy.legacy_calls(
            "claim_job", [[claim.place, claim.id, claim.token, CLAIM_LOCK] for claim in claims]
        )
        # Sent before the answers to the claims are awaited.
        logs = await read_keys(self._legacy, [["LRANGE", f"{self._base}:{claim.id}:logs", 0, -1] for claim in claims])
        found: list[list[bytes] | int | None] = await reply(taking)
        strange = [claim for claim, job in zip(claims, found, strict=True) if job == -1]
        held = [
            (claim, job, [] if isinstance(rows, WrongType) else rows)
            for claim, job, rows in zip(claims, found, logs, strict=True)
            if isinstance(job, list)
        ]
        without_log = {claim.id for claim, rows in zip(claims, logs, strict=True) if isinstance(rows, WrongType)}
        self._adapt_size(sum(len(part) for _, job, rows in held for part in (*job, *rows)), len(held))
        whole = [(claim, job, rows) for claim, job, rows in held if len(job) > 1]
        now = now_ms()
        converted = [self._convert(claim, job, now) for claim, job, _ in whole]
        added = await self._add([self._as_call(*one, new, now) for one, new in zip(whole, converted, strict=True)])
        moved = await self._no_jobs(strange)
        moved += [Moved(claim.id, claim.place, None, "gone") for claim, job, _ in held if len(job) == 1]
        done = [claim for claim, job, _ in held if len(job) == 1]
        back: list[_Claim] = []
        for (claim, _, _), new, id in zip(whole, converted, added, strict=True):
            if id in (_TAKEN, _BACK):  # of the latter nothing is said: it waits again, and moves by a claim of its own
                back.append(claim)
                moved += [Moved(claim.id, claim.place, None, "taken")] if id == _TAKEN else []
                continue
            done.append(claim)
            # 0: an earlier run has added it. Its id was this one, unless a job of the other queue had it.
            new_id = self._new_ids(claim.id)[0] if id == 0 else id.decode()
            notes = (*new.notes, _NO_LOG) if claim.id in without_log else new.notes
            was_taken = new_id == self._new_ids(claim.id)[1]
            moved.append(Moved(claim.id, claim.place, new_id, notes=notes, was_taken=was_taken))
        # In reverse, since a job that goes back to `wait` runs next.
        await self._call_legacy("return_job", [[claim.id, claim.token] for claim in reversed([*strange, *back])])
        await self._acknowledge(done)
        self._open = []
        return moved

    async def _no_jobs(self, claims: Sequence[_Claim]) -> list[Moved]:
        """Return what is reported of ids whose keys are no hashes."""
        commands = [["TYPE", f"{self._base}:{claim.id}"] for claim in claims]
        types: list[bytes] = await reply(self._legacy.commands(commands)) if commands else []
        return [
            no_job(claim.id, claim.place, WrongType(type.decode()))
            for claim, type in zip(claims, types, strict=True)
            if type not in (b"hash", b"none")  # it has changed: the next batch has it again
        ]

    def _convert(self, claim: _Claim, job: list[bytes], now: int) -> Converted:
        due = due_at(job[0]) if claim.place == "delayed" else None
        return convert(fields_of(job[1:]), claim.place, now, self._rules, due)

    def _as_call(
        self, claim: _Claim, job: list[bytes], rows: list[bytes], new: Converted, now: int
    ) -> list[int | str | bytes]:
        """Return the arguments of ``receive_job`` for a job."""
        place, score = place_of(claim.place, new)
        if place == "delayed":
            score = job[0].decode()
        fields = new.fields
        remembered = ""
        if claim.is_mirrored:
            remembered = remember(self._source, claim.id, fields["opts"])
            fields = {**fields, "opts": keep_until_mirrored(fields["opts"])}
        flat = [part for field, value in fields.items() for part in (field, value)]
        counted = f"{self._base} {place}" if place in ("completed", "failed") else ""
        return [
            now,
            self._tombstone(claim),
            *self._new_ids(claim.id),
            place,
            score,
            remembered,
            counted,
            len(rows),
            *rows,
            *flat,
        ]

    async def _add(self, calls: list[list[int | str | bytes]]) -> list[Any]:
        return await reply(self._target.legacy_calls("receive_job", calls)) if calls else []

    async def _acknowledge(self, claims: Sequence[_Claim]) -> None:
        await self._call_legacy("acknowledge_job", [[one.id, one.token, int(one.is_mirrored)] for one in claims])

    async def _call_legacy(self, script: str, calls: list[list[int | str | bytes]]) -> list[Any]:
        return await reply(self._legacy.legacy_calls(script, calls)) if calls else []

    def _adapt_size(self, bytes_moved: int, jobs: int) -> None:
        if jobs and bytes_moved:
            self.size = max(1, min(BATCH, _BATCH_BYTES * jobs // bytes_moved))

    async def forget_tombstones(self, until: int) -> None:
        """Delete the tombstones of this source up to a time, ms.

        Those of other sources may belong to claims that are not finished yet.
        """
        key, at = self._to_key("ext:mig"), 0
        while True:
            [old] = await reply(self._target.commands([["ZRANGEBYSCORE", key, "-inf", until, "LIMIT", at, 1000]]))
            ours = [member for member in old if member.startswith(f"{self._source} ".encode())]
            if ours:
                await reply(self._target.commands([["ZREM", key, *ours]]))
            if len(old) < 1000:
                return
            at += len(old) - len(ours)


def new_claim() -> str:
    """Return the token of a claim of its own; the next run finishes it if this program is killed."""
    return f"{now_ms():x}-1-{uuid4().hex[:12]}"


def _read_claim(entry: tuple[str, bytes]) -> _Claim:
    id, stored = entry
    token, place, *_ = stored.decode().split(" ")
    return _Claim(id, token, place)


def _age(claim: _Claim) -> tuple[int, int]:
    """Return what sorts claims by age: jobs of an interrupted batch keep their order."""
    started, number, _ = claim.token.split("-")
    return int(started, 16), int(number, 16)
