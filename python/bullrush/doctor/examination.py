"""One examination: the servers, each queue, and with ``deep`` each job."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from bullrush.doctor.checks import keys, machine, owners, rights, schedulers, server, workers
from bullrush.doctor.concurrently import groups, together
from bullrush.doctor.deep import read_jobs
from bullrush.doctor.finding import Finding, NotCheckedError, Report, counted
from bullrush.doctor.nodes import Nodes
from bullrush.doctor.reading import ANY_QUEUE, QueueUnderTest, Server, texts
from bullrush.doctor.repairs import repair
from bullrush.errors import (
    BullrushError,
    ConnectionLostError,
    LegacyQueueError,
    OutcomeUnknownError,
    RedisServerError,
    RedisVersionError,
)
from bullrush.extending import QueueScan, run_blocking, sleep
from bullrush.routing import route_base

_Subject = TypeVar("_Subject", Server, QueueUnderTest)
_ServerCheck = Callable[[Server], Awaitable[list[Finding]]]
_QueueCheck = Callable[[QueueUnderTest], Awaitable[list[Finding]]]

#: A finding that may pass by itself, and the check that made it.
_Suspect: TypeAlias = tuple[QueueUnderTest, _QueueCheck, Finding]

_SERVER: Final[Sequence[_ServerCheck]] = (
    server.role,
    server.eviction,
    server.persistence,
    server.memory,
    server.clock,
    server.connections,
    server.replicas,
    rights.missing,
)
_QUEUE: Final[Sequence[_QueueCheck]] = (
    owners.users,
    owners.moved,
    keys.waiting_lists,
    keys.old_keys,
    keys.rate_limit,
    workers.claims,
    workers.names,
    workers.locks,
    schedulers.chains,
    keys.events,
    keys.finished,
    keys.failures,
)
#: Seconds after which what may pass by itself is looked at again.
_SECOND_LOOK: Final = 0.25
#: Seconds for the search of the queues, and for all of it without ``deep``: a probe must not wait.
_SEARCH: Final = 3.0
_WHOLE: Final = 4.0
#: Keys per call of the search: it takes the server about half a millisecond.
_KEYS: Final = 500
#: How keys end that queues have, and queues of Bull that have moved.
_ENDS: Final = (":meta", ":ext:moved")


class Doctor:
    """Examines a server and its queues, and repairs what can be repaired."""

    def __init__(
        self,
        url: str,
        prefix: str = "bull",
        *,
        timeout: int = 5_000,
        roles: Sequence[str] = rights.ROLES,
        machine: bool = False,
    ) -> None:
        """Take where the queues are.

        Args:
            url: the URL of Redis.
            prefix: the prefix of all keys.
            timeout: ms that a round trip may take.
            roles: what the user of the URL is for: producer, worker, reader, spark, admin.
            machine: also look for what embedded servers have left on this machine.
        """
        self._url, self._prefix, self._timeout, self._roles = url, prefix, timeout, roles
        self._machine = machine
        self._nodes = Nodes(url, prefix, timeout)
        self._end = 0.0
        self._report = Report()
        #: Queues of Bull: no job of theirs is looked at.
        self._of_bull: set[str] = set()

    def examine(self, queues: Iterable[str] = (), *, deep: bool = False, report: Report | None = None) -> Report:
        """Look for faults. Nothing is changed.

        Args:
            queues: the names of the queues; all that have the prefix if none is given.
            deep: also read every job: some seconds per million of them.
            report: where to put what is found; it has something also when this raises an error.

        Raises:
            ConnectionLostError: Redis could not be reached, or not any more.
            RedisServerError: Redis refuses the login or the database of the URL.

        Redis: SCAN for the queues, then about ten round trips per queue, none of which takes the server more than a
        millisecond. It ends after about 4 s, and the report says what was left out. With ``deep`` it reads all ids and
        all names of keys, 500 per call, and has no such end.
        """
        self._report = Report() if report is None else report
        self._of_bull = set()
        self._end = float("inf") if deep else time.monotonic() + _WHOLE
        try:
            run_blocking(self._examine(list(dict.fromkeys(queues)), deep=deep))
        except RedisVersionError as error:
            self._report.findings.append(Finding("BR001", str(error)))
        self._report.findings.sort(key=lambda finding: (finding.code, finding.queue or ""))
        return self._report

    def repair(self, finding: Finding) -> str | None:
        """Repair what an examination has found.

        Args:
            finding: what it has found.

        Returns:
            Why it cannot be repaired; None if it has been.
        """
        if not finding.fixable:
            return "there is no safe repair"
        tested = self._nodes.tested(finding.queue or ANY_QUEUE)
        return "its server does not answer" if tested is None else run_blocking(repair(tested, finding))

    async def _examine(self, names: list[str], *, deep: bool) -> None:
        await self._nodes.find()
        await self._reach()
        on_cluster = await self._is_on_cluster()
        every = await self._with_routes(names) if names else await self._find()
        queues = self._in_one_slot(every, on_cluster=on_cluster)
        await self._examine_servers(queues)
        if self._machine:
            self._report.findings += machine.embedded_servers()
        examined, suspects = await self._examine_queues(queues, named=frozenset(names))
        await self._look_again(suspects)
        if deep:
            await self._examine_jobs(examined)
        self._report.leave_consequences_out()

    async def _reach(self) -> None:
        """Look whether the server answers, and which masters of a cluster do; the others are left out."""
        await together([self._reach_one(one) for one in self._nodes.servers])

    async def _reach_one(self, one: Server) -> None:
        try:
            # The others need the time that one of a cluster might take.
            await one.reach(self._nodes.node_timeout if self._nodes.is_cluster else self._timeout)
        except ConnectionLostError:
            if not self._nodes.is_cluster:
                raise
            # The text of the error names the nodes of the URL.
            self._report.findings.append(
                Finding("BR011", f"{one.address}: no answer within {self._nodes.node_timeout:,} ms")
            )
            self._nodes.leave_out(one)
        except RedisServerError as error:
            if error.code != "NOPERM":
                raise

    async def _is_on_cluster(self) -> bool:
        """Tell whether keys without a hash tag are in several places, and note what this URL does not lead to."""
        if self._nodes.is_cluster:
            return True
        try:
            if (await self._nodes.servers[0].info()).get("cluster_enabled") != "1":
                return False
            others = await self._nodes.count_others()
        except RedisServerError:
            return False  # each check that needs INFO says that it is refused
        if others > 0:
            left = counted(others, "other master")
            self._report.skipped.append(f"{left} of the cluster: give a URL that begins with redis+cluster://")
        return True

    async def _examine_servers(self, queues: list[QueueUnderTest]) -> None:
        """Look at each server, or at each master of a cluster."""
        for one in self._nodes.servers:
            one.roles = self._roles
            one.sample = next((tested.name for tested in queues if tested.server is one), one.queue.name)
            for check in _SERVER:
                for finding in await self._made(check, one):
                    at = f"{one.address}: " if one.address else ""
                    self._report.findings.append(replace(finding, detail=f"{at}{finding.detail}"))

    async def _with_routes(self, names: list[str]) -> list[str]:
        """Return queues that somebody has named with their routes."""
        routes: list[str] = []
        for group in groups(names):
            routes += (route for found in await together([self._routes(name) for name in group]) for route in found)
        return list(dict.fromkeys([*names, *routes]))

    async def _routes(self, name: str) -> list[str]:
        tested = self._nodes.tested(name)
        if tested is None:
            return []
        try:
            entries = await tested.server.ask("HGETALL", tested.key("ext:routes"))
        except RedisServerError:
            return []  # the look at the queue says that it is refused
        return [route for slug in texts(entries[::2]) if route_base(route := f"{name}~{slug}") == name]

    async def _find(self) -> list[str]:
        """Return the names of the queues, as far as there is time."""
        servers = [server.queue.core for server in self._nodes.servers]
        scan = QueueScan(self._url, self._prefix, self._timeout, size=_KEYS, servers=servers, ends=_ENDS, kind=None)
        names: list[str] = []
        # With `deep` all queues are wanted, however long that takes.
        end = self._end if self._end == float("inf") else time.monotonic() + _SEARCH
        while not scan.ended:
            try:
                names += await scan.page()
            except RedisServerError as error:
                self._report.skipped.append(f"the queues were not found; name them with --queue: {error}")
                break
            if time.monotonic() > end and not scan.ended:
                self._report.skipped.append("some queues: the search took too long; name them with --queue")
                break
        if scan.ended and not names and not scan.strange:
            self._report.skipped.append(
                f"no queue has the prefix {self._prefix}: is it right? --prefix gives another one"
            )
        if scan.strange:
            first = repr(min(scan.strange).decode(errors="replace"))
            what = counted(len(scan.strange), "queue")
            self._report.skipped.append(f"{what}: the name cannot be used here, as in the key {first}")
        return sorted(set(names))

    def _in_one_slot(self, names: Iterable[str], *, on_cluster: bool) -> list[QueueUnderTest]:
        """Return the queues that can be examined: on a cluster those whose keys are in one slot."""
        queues = []
        for name in names:
            if on_cluster and self._nodes.is_scattered(name):
                self._report.findings.append(Finding("BR010", f"{self._prefix}:{name}", name))
            elif (tested := self._nodes.tested(name)) is None:
                self._report.skipped.append(f"the queue {name}: its master does not answer")
            else:
                queues.append(tested)
        return queues

    async def _examine_queues(
        self, queues: Sequence[QueueUnderTest], *, named: Collection[str]
    ) -> tuple[list[QueueUnderTest], list[_Suspect]]:
        """Look at queues while there is time.

        Return those that could be looked at, and what has to be looked at again.
        """
        await self._list_clients()
        suspects: list[_Suspect] = []
        examined: list[QueueUnderTest] = []
        left = len(queues)
        for group in groups(queues):
            if time.monotonic() > self._end:
                self._report.skipped.append(f"{counted(left, 'queue')}: there was no time; name them with --queue")
                break
            found = await together([self._examine_queue(tested, named=tested.name in named) for tested in group])
            for tested, suspicious in zip(group, found, strict=True):
                if suspicious is not None:
                    examined.append(tested)
                    suspects += suspicious
            left -= len(group)
            self._report.queues = [tested.name for tested in examined]
        return examined, suspects

    async def _list_clients(self) -> None:
        """Ask for the connections once, and not once for each queue of the first group."""
        for one in self._nodes.servers:
            with suppress(RedisServerError):  # each check that needs them says that it is refused
                await one.clients()

    async def _examine_queue(self, tested: QueueUnderTest, *, named: bool) -> list[_Suspect] | None:
        """Note what is wrong with a queue; return what has to be looked at again. None: it cannot be looked at.

        Args:
            tested: the queue.
            named: somebody has asked for it by name.
        """
        try:
            broken, exists = await keys.types(tested)
        except RedisServerError as error:
            self._report.skipped.append(f"the queue {tested.name}: {error}")
            return None
        if not exists:
            if named:  # else a route that is registered and was never used, or a queue that was removed meanwhile
                text = f"the queue {tested.name}: it has no keys; are its name and the prefix right?"
                self._report.skipped.append(text)
            return None
        checks: Sequence[_QueueCheck] = () if broken else _QUEUE
        if (shown_by := await self._of_bull_alone(tested)) is not None:
            # Its keys are none that BullMQ would have.
            self._report.skipped += [f"the queue {tested.name}: it is Bull's ({shown_by})"] if named else []
            broken, checks = [], (owners.moved,)
        self._report.findings += broken
        suspects = []
        for check in checks:
            for finding in await self._made(check, tested):
                if finding.fleeting:
                    suspects.append((tested, check, finding))
                else:
                    self._report.findings.append(finding)
        return suspects

    async def _of_bull_alone(self, tested: QueueUnderTest) -> str | None:
        """Return what shows that Bull uses a queue, and BullMQ does not; None if that is not so, or unknown."""
        try:
            flavor, shown_by, of_bullmq = await tested.users()
        except (RedisServerError, LegacyQueueError):
            return None  # it cannot be read, or a key has another type: other checks say so
        if not flavor or of_bullmq:
            return None
        self._of_bull.add(tested.name)
        return shown_by

    async def _look_again(self, suspects: list[_Suspect]) -> None:
        """Note what a second look shows as well: jobs move, and workers connect, while they are counted."""
        if not suspects:
            return
        await sleep(_SECOND_LOOK)
        for one in self._nodes.servers:
            one.forget()
        await self._list_clients()
        left = len(suspects)
        for group in groups(suspects):
            if time.monotonic() > self._end + _SECOND_LOOK:
                self._report.skipped.append(f"{counted(left, 'finding')}: there was no time for a second look")
                break
            again = await together([self._made(check, tested) for tested, check, _ in group])
            seen = [finding.seen_again(later) for (_, _, finding), later in zip(group, again, strict=True)]
            self._report.findings += [finding for finding in seen if finding is not None]
            left -= len(group)

    async def _examine_jobs(self, queues: list[QueueUnderTest]) -> None:
        """Read every job. The queues of one server share one walk through its keys."""
        broken = {finding.queue for finding in self._report.findings if finding.code == "BR104"} | self._of_bull
        for one in self._nodes.servers:
            group = [tested for tested in queues if tested.server is one and tested.name not in broken]
            if group:
                what = f"the jobs of {', '.join(tested.name for tested in group)}"
                self._report.findings += await self._tried(read_jobs(group), what)

    async def _made(self, check: Callable[[_Subject], Awaitable[list[Finding]]], subject: _Subject) -> list[Finding]:
        """Make one check; note if that is not possible."""
        where = subject.name if isinstance(subject, QueueUnderTest) else subject.address
        what = (check.__doc__ or "").partition(":")[0]
        return await self._tried(check(subject), f"{what} of {where}" if where else what)

    async def _tried(self, looking: Awaitable[list[Finding]], what: str) -> list[Finding]:
        try:
            return await looking
        except (ConnectionLostError, OutcomeUnknownError, RedisVersionError):
            raise
        except (NotCheckedError, BullrushError) as error:
            reason = str(error)
        except Exception as error:
            # Data that no program of BullMQ writes. The text may show it.
            reason = f"the data is damaged ({type(error).__name__})"
        self._report.skipped.append(f"{what}: {reason}")
        return []
