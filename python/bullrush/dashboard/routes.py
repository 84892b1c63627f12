"""Which address is which page or change, and the right that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, Literal

from bullrush.dashboard import actions, bulk_actions, editing
from bullrush.dashboard.answer import Answer, Asked, Done
from bullrush.dashboard.bulk import RIGHTS
from bullrush.dashboard.of_bull import only_of_bullmq
from bullrush.dashboard.pages.about import about
from bullrush.dashboard.pages.all.failures import all_failures
from bullrush.dashboard.pages.all.schedulers import all_schedulers
from bullrush.dashboard.pages.all.workers import all_workers
from bullrush.dashboard.pages.audit import audit
from bullrush.dashboard.pages.bulk import bulk
from bullrush.dashboard.pages.failures import failures
from bullrush.dashboard.pages.flow import flow
from bullrush.dashboard.pages.forms import add_form, edit_form
from bullrush.dashboard.pages.history import history
from bullrush.dashboard.pages.job import job
from bullrush.dashboard.pages.jobs import jobs
from bullrush.dashboard.pages.overview import overview
from bullrush.dashboard.pages.routes import routes
from bullrush.dashboard.pages.schedulers import schedulers
from bullrush.dashboard.pages.slow import slow
from bullrush.dashboard.pages.workers import workers
from bullrush.dashboard.refusal import RefusalError, refusal_of
from bullrush.dashboard.rights import Action
from bullrush.errors import BullrushError
from bullrush.extending import VERBS, Verb

#: A form of ours has a few short fields; an id may have some thousand bytes.
_LONGEST_FORM: Final = 100_000
#: A form with data: a browser writes some characters as three.
_WITH_DATA: Final = 3 * editing.LONGEST + _LONGEST_FORM


@dataclass(frozen=True)
class Route:
    """An address.

    Attributes:
        path: its parts; those in braces are names. The last one takes all that is left.
        right: what it needs in the queue that the address names; ``each`` asks per queue that it shows.
    """

    path: str
    right: Action | Literal["each"]

    def match(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Return what the parts of an address name; None if it is another one."""
        wanted = self.path.strip("/").split("/")
        if wanted[-1] == "{id}" and len(parts) > len(wanted):
            # A proxy may have decoded the slashes of an id.
            parts = [*parts[: len(wanted) - 1], "/".join(parts[len(wanted) - 1 :])]
        if len(parts) != len(wanted):
            return None
        named: dict[str, str] = {}
        for want, part in zip(wanted, parts, strict=True):
            if want.startswith("{"):
                named[want.strip("{}")] = part
            elif want != part:
                return None
        return named


@dataclass(frozen=True)
class Look(Route):
    """A page, asked for by GET. It changes nothing.

    Attributes:
        handler: what answers.
        is_live: it has a part that is kept up to date while somebody looks: the block ``live`` of its template.
        is_own: it is for one viewer alone.
        is_remembered: it shows what was remembered, also while Redis is away, whosever the queue is now.
    """

    handler: Callable[[Asked], Awaitable[Answer]]
    is_live: bool = False
    is_own: bool = False
    is_remembered: bool = False
    method: ClassVar[str] = "get"


@dataclass(frozen=True)
class Change(Route):
    """What a button does, asked for by POST.

    Attributes:
        handler: what does it.
        is_noted: what has come of it is noted in the audit when it has answered.
        longest: how many bytes its form may have.
    """

    handler: Callable[[Asked], Awaitable[Done]]
    is_noted: bool = True
    longest: int = _LONGEST_FORM
    method: ClassVar[str] = "post"

    async def make(self, asked: Asked) -> Done:
        """Make the change, and note it."""
        try:
            async with asked.source.queue_to_change(asked.queue_name) as queue:
                done = await only_of_bullmq(asked, self.handler(replace(asked, changing=queue)))
        except RefusalError as error:
            self._note(asked, error.sentence)
            raise
        except BullrushError as error:
            self._note(asked, refusal_of(error).sentence)
            raise
        self._note(asked, done.text, done)
        return done

    def _note(self, asked: Asked, outcome: str, done: Done | None = None) -> None:
        if not self.is_noted:
            return
        what = " ".join(self.path.strip("/").split("/")[2:])
        meant = {"failure": asked.form["failure"]} if asked.form.get("failure") else {}
        asked.note(
            what,
            outcome,
            done=done is not None,
            job=asked.form.get("id"),
            filter=meant,
            counts=None if done is None else done.counts,
        )


def _bulk(verb: Verb) -> tuple[Change, Change]:
    """Return what shows which jobs a change of many would be for, and what makes this change."""
    path, right = f"/q/{{queue}}/bulk/{verb}", RIGHTS[verb]
    return (
        Change(path, right, partial(bulk_actions.preview, verb), is_noted=False),
        Change(f"{path}/confirm", right, partial(bulk_actions.make, verb), is_noted=False),
    )


ROUTES: Final[tuple[Look | Change, ...]] = (
    Look("/", "each", overview, is_live=True),
    Look("/about", "each", about),
    Look("/failures", "each", all_failures),
    Look("/workers", "each", all_workers, is_live=True),
    Look("/schedulers", "each", all_schedulers),
    Look("/audit", "each", audit),
    Look("/q/{queue}", "view", jobs, is_live=True),
    Look("/q/{queue}/jobs/{id}", "view", job, is_live=True),
    Look("/q/{queue}/failures", "data", failures),
    Look("/q/{queue}/workers", "view", workers, is_live=True),
    Look("/q/{queue}/slow", "view", slow, is_live=True),
    Look("/q/{queue}/schedulers", "view", schedulers),
    Look("/q/{queue}/routes", "view", routes),
    Look("/q/{queue}/flows/{id}", "view", flow, is_live=True),
    Look("/q/{queue}/history", "view", history, is_remembered=True),
    Look("/q/{queue}/add", "edit", add_form),
    Look("/q/{queue}/edit/{id}", "edit", edit_form),
    Change("/q/{queue}/add", "edit", editing.add, longest=_WITH_DATA),
    Change("/q/{queue}/edit", "edit", editing.edit, longest=_WITH_DATA),
    Change("/q/{queue}/retry", "run", actions.retry),
    Change("/q/{queue}/promote", "run", actions.promote),
    Change("/q/{queue}/cancel", "run", actions.cancel),
    Change("/q/{queue}/remove", "remove", actions.remove),
    Change("/q/{queue}/pause", "pause", actions.pause),
    Change("/q/{queue}/resume", "pause", actions.resume),
    Change("/q/{queue}/failures/retry", "run", bulk_actions.retry_group),
    Look("/q/{queue}/bulk/{id}", "view", bulk, is_live=True, is_own=True, is_remembered=True),
    *(change for verb in VERBS for change in _bulk(verb)),
)
