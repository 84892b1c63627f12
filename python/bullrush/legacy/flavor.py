"""A queue of Bull, and which Bull it belongs to."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bullrush.errors import InvalidOptionError, LegacyQueueError
from bullrush.extending import (
    CallOptions,
    Duration,
    Handle,
    HandleOptions,
    checked_options,
    declare_options,
    operation,
    reply,
)

#: A major version of Bull. 3 and 4 store the same.
Layout: TypeAlias = Literal["1", "2", "3", "4"]
#: A major version of Bull; ``auto`` finds it out.
Flavor: TypeAlias = Literal["auto", "1", "2", "3", "4"]

#: What the core finds, and which versions that may be. The first one is chosen if the others store the same.
_FOUND: Final[dict[str, tuple[Layout, ...]]] = {
    "Bull 2.x": ("2",),
    "Bull 1.x or 2.x": ("1", "2"),
    "Bull 3.x or 4.x": ("4", "3"),
    "Bull": ("1", "2", "3", "4"),
    "": ("1", "2", "3", "4"),
}


def check_flavor(flavor: object) -> Flavor:
    """Return the argument ``flavor``; a number is taken for its text.

    Raises:
        InvalidOptionError: it is none of the words.
    """
    for known in get_args(Flavor):
        if known == (str(flavor) if type(flavor) is int else flavor):
            return known  # type: ignore[no-any-return]
    raise InvalidOptionError(f"flavor must be one of {', '.join(map(repr, get_args(Flavor)))}, not {flavor!r}")


@declare_options
class _Options(HandleOptions, CallOptions, total=False):
    """Options of a queue of Bull."""


class LegacyBase(Handle):
    """A queue of Bull, and the version of Bull that it belongs to: given, or found out."""

    #: What was found out; a queue does not change its version.
    _layout: Layout | None = None
    _checked = False

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        prefix: str = "bull",
        flavor: Flavor | int = "auto",
        timeout: Duration | None = 10_000,
    ) -> None:
        """Make a handle of a queue of Bull. It connects at the first call, and writes nothing by itself.

        Args:
            name: the queue's name.
            url: the URL of Redis, as for `Queue`.
            prefix: the prefix of all keys, ``bull`` by default.
            flavor: the major version of Bull, "1" to "4" (or a number); ``auto`` finds it out by the keys and some
                jobs.
            timeout: ms that a round trip may take, connecting included. None is no limit.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an argument has an invalid value.
        """
        self._given_flavor = check_flavor(flavor)
        given = {"url": url, "prefix": prefix, "timeout": timeout, "allow_legacy": True}
        settings = checked_options(_Options, given, type(self).__name__)
        super().__init__(name, settings, {**given, "flavor": flavor})

    @operation
    async def get_flavor(self) -> Layout:
        """Return the major version of Bull that the queue belongs to, by its keys and some of its jobs.

        Bull 3 and 4 store the same; it is "4" then, unless ``flavor`` is given. Redis: one to three round trips at the
        first call, then none.

        Raises:
            LegacyQueueError: the keys do not tell, or do not tell 1.x from 2.x: give ``flavor``. Or the queue belongs
                to BullMQ, or to both, or to another version than ``flavor``.
        """
        return await self._require_layout()

    async def _require_layout(self) -> Layout:
        """Return the version, which must be known."""
        if self._layout is None:
            possible, shown_by = await self._find_out()
            if self._layout is None:
                found = (
                    f"may be one of Bull {' or '.join(possible)} ({shown_by})" if shown_by else "has no jobs that tell"
                )
                flavors = " or ".join(f'"{one}"' for one in possible)
                raise LegacyQueueError(
                    f"queue {self.qualified_name} {found}: say which version of Bull it is, flavor={flavors}"
                )
        return self._layout

    async def _check_owner(self) -> None:
        """Check that the queue may be one of Bull, once."""
        if not self._checked:
            await self._find_out()

    async def _find_out(self) -> tuple[tuple[Layout, ...], str]:
        """Return which versions it may be, and what shows it; "" if nothing shows anything."""
        found, shown_by, of_bullmq = await reply(self.core.legacy_users())
        name, given = self.qualified_name, self._given_flavor
        if of_bullmq and found:
            raise LegacyQueueError(
                f"Bull and BullMQ use queue {name} both: {shown_by}, and keys of BullMQ's exist. Stop BullMQ's "
                "programs. When none "
                "of their jobs is left, delete the keys events, marker, pc, prioritized and meta of the queue"
            )
        if of_bullmq:
            raise LegacyQueueError(f"queue {name} belongs to BullMQ and not to Bull: use bullrush.Queue")
        possible = _FOUND[found]
        if given == "auto":
            self._layout = possible[0] if len(possible) == 1 or possible[0] == "4" else None
        elif given in possible:
            self._layout = given
        else:
            raise LegacyQueueError(
                f'queue {name} is one of {found}: {shown_by}. So flavor="{given}" is wrong; leave it out'
            )
        self._checked = True
        return possible, shown_by
