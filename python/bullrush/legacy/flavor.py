"""A queue of Bull, and which Bull it belongs to."""

from __future__ import annotations

import shlex
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from bullrush.errors import InvalidOptionError, LegacyQueueError, QueueNameError
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
from bullrush.legacy.signpost import Signpost, read_signpost

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


#: What to do with a queue of Bull whose keys BullMQ uses, too.
ADVICE_FOR_BOTH: Final = (
    "Stop BullMQ's programs; a Queue with allow_legacy=True has their jobs. When none of their jobs is left, delete "
    "the keys events, marker, pc, prioritized and meta of the queue"
)


class Users(NamedTuple):
    """Who uses a queue.

    Attributes:
        flavor: the versions of Bull that may, such as ``Bull 3.x or 4.x``; "" if nothing shows Bull.
        shown_by: what shows Bull.
        of_bullmq: keys exist that only BullMQ has.
    """

    flavor: str
    shown_by: str
    of_bullmq: bool


async def read_users(queue: Handle) -> Users:
    """Find out who uses a queue, by its keys, some jobs and the connected programs."""
    flavor, shown_by, of_bullmq = await reply(queue.core.legacy_users())
    return Users(flavor, shown_by, bool(of_bullmq))


def refusal(name: str, users: Users, signpost: Signpost | None) -> str:
    """Return why the jobs of a queue with keys of BullMQ's cannot be moved, and what to do.

    Args:
        name: the prefix and the name of the queue.
        users: who uses it.
        signpost: where its jobs have gone.
    """
    if signpost is not None:
        why = f"queue {name} has moved to {signpost}, and BullMQ has used its old keys since"
    elif users.flavor:
        why = f"Bull and BullMQ use queue {name} both: {users.shown_by}, and keys of BullMQ's exist"
    else:
        return f"queue {name} belongs to BullMQ and not to Bull: use bullrush.Queue"
    return f"{why}. {ADVICE_FOR_BOTH}"


def check_flavor(flavor: object) -> Flavor:
    """Return the argument ``flavor``; a number is taken for its text.

    Raises:
        InvalidOptionError: it is none of the words.
    """
    for known in get_args(Flavor):
        if known == (str(flavor) if type(flavor) is int else flavor):
            return known  # type: ignore[no-any-return]
    raise InvalidOptionError(f"flavor must be one of {', '.join(map(repr, get_args(Flavor)))}, not {flavor!r}")


def check_colons(name: object, prefix: object) -> None:
    """Check that the name of a queue has no colon, and say what is to be given instead.

    Args:
        name: the name.
        prefix: the prefix of its keys.

    Raises:
        QueueNameError: it has one.
    """
    if not isinstance(name, str) or not isinstance(prefix, str) or ":" not in name:
        return
    first, _, last = f"{prefix}:{name}".rpartition(":")
    example = shlex.join(["bullrush", "migrate", last, "--prefix", first, "--to-prefix", "bullmq"])
    raise QueueNameError(
        f'Queue name cannot contain :. The queue "{name}" of Bull is reached by prefix "{first}" and name "{last}", '
        "since its keys are the same. Move it to a name without a colon: "
        f"{example} --to-name {shlex.quote(name.replace(':', '-'))}"
    )


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
            QueueNameError: the name is empty, or has a colon or control characters. Bull allows colons: the queue
                ``mails:eu`` has the prefix ``bull:mails`` and the name ``eu`` here.
            InvalidOptionError: an argument has an invalid value.
        """
        self._given_flavor = check_flavor(flavor)
        check_colons(name, prefix)
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
        users = await read_users(self)
        found, shown_by, _ = users
        name, given = self.qualified_name, self._given_flavor
        if users.of_bullmq:
            raise LegacyQueueError(refusal(name, users, await read_signpost(self)))
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
