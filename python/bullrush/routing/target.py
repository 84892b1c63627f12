"""What a job needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypedDict

from bullrush._core import CoreTarget, route_base
from bullrush.errors import InvalidOptionError
from bullrush.routing.tokens import read_server, read_tokens
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.naming import check_known
from bullrush.values.shown import shown


class Target(TypedDict, total=False):
    """What a job needs. A worker whose `Profile` matches runs it.

    A word has 1 to 64 letters, digits and ``. _ : / + -``. Upper and lower case differ. The order of words does not
    matter. A target without any criterion is that of a plain job, which every worker runs.

    Attributes:
        server: the worker on this server, and no other. Nothing else counts then.
        stack: the worker has one of these, at most 8.
        capabilities: the worker has all of these, at most 16. ``gpu:*`` is any capability that begins with ``gpu:``,
            ``*`` is any capability.
        region: the worker is in one of these, at most 8.
        mode: ``all``, the default: the stack, the region and each capability. ``any``: at least one of these. ``each``:
            the stack, the region and at least one of the capabilities.
        fallback_after: after this time in ms (or a timedelta) a job that no worker took goes to ``fallback``. This is a
            setting of the route, which jobs with the same target share: the last one given counts, 0 removes it.
        fallback: ``"base"``, the default, for every worker, or a target that more workers match.
    """

    server: str | None
    stack: Sequence[str]
    capabilities: Sequence[str]
    region: Sequence[str]
    mode: Literal["all", "any", "each"]
    fallback_after: Duration | None
    fallback: Literal["base"] | Target | None


_KNOWN: Final = frozenset(Target.__annotations__)
_OF_FALLBACK: Final = frozenset(["fallback_after", "fallback"])
_MODES: Final = ("all", "any", "each")


class Criteria(NamedTuple):
    """What a job needs, in the form that the core takes."""

    server: str | None = None
    stack: Sequence[str] = ()
    capabilities: Sequence[str] = ()
    region: Sequence[str] = ()
    mode: str = "all"


def check_target(name: str, value: object) -> CoreTarget:
    """Return a checked target.

    Args:
        name: its name in errors.
        value: a `Target`.

    Raises:
        InvalidOptionError: a member does not exist or has an invalid value.
    """
    if not isinstance(value, Mapping):
        raise InvalidOptionError(
            f"{name} must be a dict of {', '.join(Target.__annotations__)}, not {type(value).__qualname__}"
        )
    check_known(value, _KNOWN, name)
    mode = value.get("mode")
    if mode is not None:
        checks.check_choice(f"{name}.mode", mode, _MODES)
    after, fallback = value.get("fallback_after"), value.get("fallback")
    if after is not None:
        after = checks.not_negative_milliseconds(f"{name}.fallback_after", after)
    elif fallback is not None:
        raise InvalidOptionError(f"{name}.fallback needs fallback_after: after how many ms a job goes there")
    target = CoreTarget(
        Criteria(read_server(name, value), **read_tokens(name, value), mode=mode or "all"),
        fallback_after=after,
        fallback=None if fallback is None or fallback == "base" else _check_fallback(f"{name}.fallback", fallback),
    )
    if after is not None and not target.slug:
        raise InvalidOptionError(f"{name} needs a criterion besides fallback_after")
    if target.fallback is not None and target.fallback.slug == target.slug:
        raise InvalidOptionError(f"{name}.fallback must be another target")
    if target.fallback is not None and target.fallback.slug and target.fallback.implies(target):
        raise InvalidOptionError(
            f"{name}.fallback must be wider: each worker that matches it matches the target, too, so no other worker "
            "would take the jobs"
        )
    return target


def route_key(target: CoreTarget) -> tuple[object, ...]:
    """Return what two targets have in common that need no registration of their own: the target, and its fallback."""
    fallback = target.fallback
    return target.canonical, target.fallback_after, fallback and fallback.canonical


def check_base(queue: str) -> str:
    """Return the name of a queue that can have routes.

    Args:
        queue: the name of the queue.

    Raises:
        InvalidOptionError: it is the name of a route.
    """
    base = route_base(queue)
    if base is not None:
        raise InvalidOptionError(f"{queue!r} is a route, which has no routes: take the route of its base, {base!r}")
    return queue


def route_of(queue: str, target: object) -> tuple[str, CoreTarget] | None:
    """Return the base and the checked target of a job; None for a target without any criterion.

    Args:
        queue: the queue of the job.
        target: a `Target`.

    Raises:
        InvalidOptionError: the target is wrong, or the queue is a route itself.
    """
    checked = check_target("target", target)
    return (check_base(queue), checked) if checked.slug else None


def _check_fallback(name: str, value: object) -> CoreTarget:
    if not isinstance(value, Mapping):
        raise InvalidOptionError(f"{name} must be 'base' or a target, not {shown(value)}")
    check_known(value, _KNOWN - _OF_FALLBACK, name)
    return check_target(name, value)
