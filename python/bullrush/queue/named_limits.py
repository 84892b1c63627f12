"""Limits with a name, which queues share, and grants of them."""

from __future__ import annotations

import hashlib
import math
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypedDict, TypeVar

import orjson

from bullrush.base.operation import Async, Blocking, operation, reply, sleep
from bullrush.errors import InvalidOptionError, LimitTimeoutError
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.shown import shown

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from bullrush._core import CoreQueue

#: Letters, digits and `_ . : -`; what stands in braces is replaced by a value.
_NAME: Final = re.compile(r"[\w.:-]+(\{[\w.]+\}[\w.:-]*)*", re.ASCII)
_LONGEST_NAME: Final = 200
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_WINDOW: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
#: How long a grant holds slots that nobody gives back, in ms.
_LEASE: Final = 60_000
#: Nobody knows when a slot becomes free: the pauses between two looks, in s.
_FIRST_LOOK, _LAST_LOOK = 0.01, 0.25
#: A limit that was changed is obeyed after so long, in s.
_LONGEST_PAUSE: Final = 1.0


class GivenLimit(TypedDict, total=False):
    """What is taken of a limit.

    Attributes:
        name: the name under which the limit was set.
        cost: how much of its rates is taken; 1 by default. A slot of its concurrency is always one.
        value: for which value the limit holds; each has windows and slots of its own.
    """

    name: str
    cost: int
    value: str


#: A limit that is taken: its name, or a name with a cost or a value.
Limit: TypeAlias = "str | GivenLimit"


class Rate(NamedTuple):
    """How much may be taken in any window of this length.

    Attributes:
        most: the sum of the costs.
        window: the length in ms.
    """

    most: int
    window: int


class NamedLimit(NamedTuple):
    """A limit as it was set.

    Attributes:
        name: its name.
        concurrency: how many may hold it at the same time; None is any number.
        rates: how much may be taken in a time.
    """

    name: str
    concurrency: int | None
    rates: tuple[Rate, ...]


@dataclass(frozen=True)
class LimitUsage:
    """How much of a limit is used.

    Attributes:
        limit: the limit; None if nobody has set it.
        holders: how many hold a slot. One that has died is counted until somebody needs its slot.
        used: how much of each rate was taken, in the order of ``limit.rates``.
        held_for: for how many ms nobody may take it; see `hold`.
    """

    limit: NamedLimit | None
    holders: int
    used: tuple[int, ...]
    held_for: int


class _Asked(NamedTuple):
    """A limit that is taken: its name, what its keys are called, and the cost."""

    name: str
    key: str
    cost: int

    @property
    def names(self) -> tuple[str, str]:
        return self.name, self.key


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidOptionError(
            f"the name of a limit has letters, digits and _ . : - (and the field of a value in braces), at most "
            f"{_LONGEST_NAME} characters, not {shown(name)}"
        )
    return name


def _asked(limit: object) -> _Asked:
    if not isinstance(limit, Mapping):
        return _Asked(_check_name(limit), _key(_check_name(limit), None), 1)
    unknown = sorted(set(limit) - set(GivenLimit.__annotations__))
    if unknown or "name" not in limit:
        what = f"has no {unknown[0]!r}" if unknown else "needs a name"
        raise InvalidOptionError(f'a limit {what}: {{"name": "openai", "cost": 3, "value": "acme"}}')
    name, value = _check_name(limit["name"]), limit.get("value")
    key = _key(name, None if value is None else checks.text("value", value))
    return _Asked(name, key, checks.at_least(0)("cost", limit.get("cost", 1)))


def _key(name: str, value: str | None) -> str:
    """Return what the keys of a limit are called. A value has no braces there: they would change the slot."""
    has_field = "{" in name
    if has_field and value is None:
        raise InvalidOptionError(f'the limit {name!r} holds for each value: {{"name": {name!r}, "value": ...}}')
    plain = name.replace("{", "(").replace("}", ")")
    return plain if value is None else f"{plain}#{hashlib.sha256(value.encode()).hexdigest()[:24]}"


def _all_asked(limits: Iterable[Limit]) -> list[_Asked]:
    asked = [_asked(limit) for limit in limits]
    if not asked:
        raise InvalidOptionError('name at least one limit: take("openai")')
    if len({one.key for one in asked}) < len(asked):
        raise InvalidOptionError("each limit can be taken once: give it a cost instead")
    return asked


def _rate(given: object) -> Rate:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidOptionError(f'a rate is (most, window), such as (60, "1m"), not {shown(given)}')
    most, window = given
    if isinstance(window, str):
        found = _WINDOW.fullmatch(window)
        if not found:
            raise InvalidOptionError(
                f"the window of a rate is ms, a timedelta, or 30s, 1m, 2h, 1d, not {shown(window)}"
            )
        window = int(found[1]) * _UNITS[found[2]]
    return Rate(checks.at_least(1)("most", most), checks.positive_milliseconds("window", window))


def _limit(name: str, settings: str) -> NamedLimit:
    stored = orjson.loads(settings)
    return NamedLimit(name, stored.get("concurrency"), tuple(Rate(*rate) for rate in stored.get("rates", ())))


class GrantCalls:
    """What was taken of limits. It is settled once; at the end of a ``with`` block by itself.

    Attributes:
        id: the grant's id.
        taken_at: when it was taken, in ms since 1970 by the clock of Redis.
    """

    def __init__(self, core: Callable[[], CoreQueue], id: str, taken_at: int, asked: list[_Asked]) -> None:
        """Keep what was taken."""
        self.id: str = id
        self.taken_at: int = taken_at
        self._core, self._asked = core, asked
        self._used = {one.key: one.cost for one in asked}

    def __repr__(self) -> str:
        costs = ", ".join(f"{one.name}: {self._used[one.key]} of {one.cost}" for one in self._asked)
        return f"<{type(self).__name__} {costs}>"

    def spent(self, name: str, cost: int) -> None:
        """Say how much of a limit was used, before the grant is settled.

        Less than was taken is given back; more counts from the moment in which the grant is settled.

        Args:
            name: the limit's name.
            cost: how much was used, at least 0.

        Raises:
            InvalidOptionError: this limit was not taken, or the cost is not a whole number.
        """
        own = [one for one in self._asked if one.name == name]
        if not own:
            raise InvalidOptionError(
                f"the limit {name!r} was not taken; {', '.join(one.name for one in self._asked)} was"
            )
        for one in own:
            self._used[one.key] = checks.at_least(0)("cost", cost)

    @operation
    async def settle(self) -> bool:
        """Give the slots back, and what was not used of the rates.

        Returns:
            False if the grant was settled before, or its lease is over: then nothing is given back.

        Redis:
            One script; ``limit/spend``.
        """
        limits = [(one.names, self._used[one.key]) for one in self._asked]
        return await reply(self._core().spend_limits(self.id, limits))


class Grant(Blocking, GrantCalls):
    """What was taken of limits by `NamedLimits.take`: ``with queue.limits.take("openai") as grant: ...``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.settle()


class AsyncGrant(Async, GrantCalls):
    """A grant whose calls are awaited: ``async with await queue.limits.take("openai") as grant: ...``."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        await self.settle()


GrantT = TypeVar("GrantT", bound=GrantCalls)


class NamedLimitsCalls(Generic[GrantT]):
    """The calls of `Queue.limits`, written once for both APIs."""

    _grant: ClassVar[Callable[..., Any]]

    def __init__(self, core: Callable[[], CoreQueue]) -> None:
        """Take what returns the core of a queue."""
        self._core = core

    @operation
    async def set(
        self, name: str, *, concurrency: int | None = None, rates: Iterable[tuple[int, Duration | str]] = ()
    ) -> NamedLimit:
        """Set a limit, or change it. Whoever takes it next obeys.

        Args:
            name: its name: letters, digits and ``_ . : -``. With a field in braces, such as ``openai:{data.org}``, each
                value has windows and slots of its own.
            concurrency: how many may hold it at the same time; None is any number.
            rates: how much may be taken in any window of a length: ``[(60, "1m"), (1000, "1d")]``. A window is ms, a
                timedelta or a text. Up to 1,000 per window are counted to the ms, above that to a hundredth of the
                window.

        Raises:
            InvalidOptionError: neither concurrency nor a rate was given, or one is not valid; nothing was changed.

        Redis:
            One HSET of ``ext:limits``, a key that all queues of this prefix share.
        """
        most = None if concurrency is None else checks.at_least(1)("concurrency", concurrency)
        windows = [_rate(rate) for rate in rates]
        if most is None and not windows:
            raise InvalidOptionError("a limit needs concurrency= or rates=; remove() removes it")
        if len({rate.window for rate in windows}) < len(windows):
            raise InvalidOptionError("each rate of a limit needs a window of another length")
        settings: dict[str, object] = {"rates": [list(rate) for rate in windows]}
        if most is not None:
            settings["concurrency"] = most
        await reply(self._core().set_limit(_check_name(name), orjson.dumps(settings).decode()))
        return NamedLimit(name, most, tuple(windows))

    @operation
    async def get_all(self) -> list[NamedLimit]:
        """Return all limits that somebody has set, by name. One HGETALL."""
        found = await reply(self._core().limits())
        return [_limit(name, settings) for name, settings in sorted(found.items())]

    @operation
    async def usage(self, *limits: Limit) -> list[LimitUsage]:
        """Return how much of some limits is used. One script; ``limit/get_usage``.

        Args:
            limits: their names, or names with values.
        """
        asked = _all_asked(limits)
        found = await reply(self._core().limit_usage([one.names for one in asked]))
        return [
            LimitUsage(
                None if (settings := use["settings"]) is None else _limit(one.name, settings),
                use["holders"],
                tuple(use["used"]),
                use["held_ms"],
            )
            for one, use in zip(asked, found, strict=True)
        ]

    @operation
    async def remove(self, name: str) -> bool:
        """Remove a limit: then nobody obeys it. Returns False if there was none."""
        return await reply(self._core().remove_limit(_check_name(name)))

    @operation
    async def hold(self, *limits: Limit, ms: Duration) -> int:
        """Let nobody take some limits for a while, for example for the ``Retry-After`` of a service.

        Args:
            limits: their names, or names with values.
            ms: how long, in ms. A hold that lasts longer stays.

        Returns:
            How many of them somebody has set: the others cannot be held.

        Redis:
            One script; ``limit/hold``.
        """
        asked, length = _all_asked(limits), checks.positive_milliseconds("ms", ms)
        return await reply(self._core().hold_limits([one.names for one in asked], length))

    @operation
    async def take(self, *limits: Limit, lease: Duration = _LEASE, timeout: Duration | None = None) -> GrantT:
        """Take a grant of all these limits, or of none: wait until all of them allow it.

        Args:
            limits: their names, or names with a cost or a value. A name that nobody has set is no limit.
            lease: for how many ms the grant holds its slots if nobody settles it.
            timeout: how many ms to wait at most; 0 does not wait, None waits as long as it takes.

        Returns:
            The grant. Settle it, or use it in a ``with`` block.

        Raises:
            LimitTimeoutError: they did not allow it in time. Its ``retry_after`` says when a rate allows it, in ms.
            InvalidOptionError: a cost is more than a window of its limit ever allows.

        Redis:
            One script per look; ``limit/take``. While a rate is used up, the next look is when it allows the cost.
        """
        asked = _all_asked(limits)
        wanted = [(one.names, one.cost) for one in asked]
        length = checks.positive_milliseconds("lease", lease)
        wait = None if timeout is None else checks.not_negative_milliseconds("timeout", timeout)
        end = None if wait is None else time.monotonic() + wait / 1_000
        grant, look = uuid.uuid4().hex, _FIRST_LOOK
        while True:
            try:
                taken, ms, place = await reply(self._core().take_limits(grant, length, wanted))
            except BaseException:
                # Nobody has the grant, for example since the take was cancelled: what it may have taken is given back.
                self._core().spend_limits(grant, [(names, 0) for names, _ in wanted])
                raise
            one = asked[place]
            if taken == "at":
                return self._grant(self._core, grant, ms, asked)  # type: ignore[no-any-return]
            if taken == "never":
                raise InvalidOptionError(
                    f"a window of the limit {one.name!r} allows {ms:,}, never {one.cost:,} at once"
                )
            pause = ms / 1_000
            if taken == "full":
                pause, look = max(pause, look), min(2 * look, _LAST_LOOK)
            left = math.inf if end is None else end - time.monotonic()
            if left <= 0:
                what = "all slots are taken" if taken == "full" else f"it allows this in {ms:,} ms"
                raise LimitTimeoutError(f"the limit {one.name!r} did not allow it within {wait} ms: {what}", ms or None)
            await sleep(min(pause, left, _LONGEST_PAUSE))


class NamedLimits(Blocking, NamedLimitsCalls[Grant]):
    """Limits with a name, as `Queue.limits`: they hold for all queues of a prefix, and for programs without a queue.

    On a cluster they hold for the queues of one slot.
    """

    _grant = Grant


class AsyncNamedLimits(Async, NamedLimitsCalls[AsyncGrant]):
    """The calls of `NamedLimits`, to be awaited."""

    _grant = AsyncGrant
