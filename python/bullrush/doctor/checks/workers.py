"""BR107 to BR111, and BR203 where it shows: who runs the jobs, and who has stopped to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from bullrush.doctor.finding import SHOWN, Finding, counted
from bullrush.doctor.reading import QueueUnderTest, texts
from bullrush.extending import STUCK_AFTER, DueWork, reply
from bullrush.routing import route_base

#: So many active jobs are looked at, the oldest ones.
_WINDOW: Final = 1_000
_NO_KEY: Final = -2
_NO_END: Final = -1
_THEY_COME: Final = (
    "Wait: a check for stalled jobs moves them back to wait, after at most two of its intervals; "
    "look at why their worker died"
)

_ONE_DATABASE: Final = (
    "Give the worker the database of this URL (the number behind the last slash), or this URL its own"
)


async def claims(tested: QueueUnderTest) -> list[Finding]:
    """BR107, BR108 and BR203: jobs are due, may start, and nobody takes them."""
    work = DueWork(**await reply(tested.server.queue.core.due_work(name=tested.name, checked=False)))
    if work.oldest_id is None or not work.is_stuck(work.last_start_age, STUCK_AFTER):
        return []
    if work.oldest_age is None:
        # It is no job: its hash is gone. That no worker is there is said when real jobs wait.
        return [Finding("BR203", counted(1, "id"), tested.name, (work.oldest_id,), fleeting=True)]
    since = f"the oldest job that is due has waited for {work.oldest_age // 1_000:,} s"
    if not await tested.count_workers():
        # A worker of several queues is connected under the first of them, and looks for stalled jobs of each.
        if await tested.server.ask("EXISTS", tested.key("stalled-check")):
            return []
        detail, instead = since, _for_route(tested)
        if elsewhere := await tested.connected(elsewhere=True):
            detail, instead = (
                f"{since}. Connected to another database: {_named(elsewhere, database=True)}",
                _ONE_DATABASE,
            )
        return [Finding("BR107", detail, tested.name, (work.oldest_id,), fleeting=True, instead=instead)]
    if any(ttl != _NO_KEY for ttl in (await _locks(tested)).values()):
        return []  # they are busy: more workers are needed, which health() says
    named = _named(await tested.connected()) or "workers whose profile matches"
    detail = f"{since}, and no job runs. Connected: {named}"
    return [Finding("BR108", detail, tested.name, (work.oldest_id,), fleeting=True)]


async def names(tested: QueueUnderTest) -> list[Finding]:
    """BR109: two workers of one name."""
    connected = Counter(name for client in await tested.connected() if (name := _name(client)))
    twice = [f"{name} ({count} connections)" for name, count in connected.items() if count > 1]
    return [Finding("BR109", ", ".join(sorted(twice)[:SHOWN]), tested.name, fleeting=True)] if twice else []


async def locks(tested: QueueUnderTest) -> list[Finding]:
    """BR110 and BR111: each active job has a lock that expires."""
    ttls = await _locks(tested)
    without = tuple(id for id, ttl in ttls.items() if ttl == _NO_KEY)
    endless = tuple(id for id, ttl in ttls.items() if ttl == _NO_END)
    found = []
    if without:
        checks = await tested.server.ask("EXISTS", tested.key("stalled-check"))
        who = "workers look for such jobs" if checks else "no worker looks for such jobs"
        detail = f"{len(without):,} of {counted(len(ttls), 'job')}; {who}"
        instead = _THEY_COME if checks else ""
        found.append(Finding("BR110", detail, tested.name, without, True, mends_itself=bool(checks), instead=instead))
    if endless:
        found.append(Finding("BR111", counted(len(endless), "lock"), tested.name, endless, True))
    return found


async def _locks(tested: QueueUnderTest) -> dict[str, int]:
    """Return the time to live of the locks of the oldest active jobs."""
    ids = texts(await tested.server.ask("LRANGE", tested.key("active"), -_WINDOW, -1))
    jobs = [id for id in dict.fromkeys(ids) if not id.startswith("0:")]
    ttls = await tested.server.ask_all([["PTTL", tested.key(f"{id}:lock")] for id in jobs])
    return dict(zip(jobs, ttls, strict=True))


def _for_route(tested: QueueUnderTest) -> str:
    """Return what the jobs of a route need; "" for another queue."""
    base = route_base(tested.name)
    if base is None:
        return ""
    return (
        f"Start a worker of {base} whose profile (--profile) matches this route, as `bullrush routes {base}` shows it, "
        "or give the route a fallback: other workers do not take these jobs"
    )


def _named(workers: Sequence[dict[str, str]], *, database: bool = False) -> str:
    def named(one: dict[str, str]) -> str:
        where = f", database {one.get('db')}" if database else ""
        return f"{_name(one) or 'without a name'} at {one.get('addr')}{where}"

    return ", ".join(map(named, workers[:SHOWN]))


def _name(client: dict[str, str]) -> str:
    return client.get("name", "").partition(":w:")[2]
