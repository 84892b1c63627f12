"""What a page says, before it is HTML or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from bullrush.aio import Queue
from bullrush.dashboard.audit import Audit, Line
from bullrush.dashboard.bulk import Bulks
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.rights import Viewer
from bullrush.dashboard.source import Source
from bullrush.extending import HIDDEN, Masks


@dataclass(frozen=True)
class Answer:
    """A page.

    Attributes:
        template: the name of its template.
        title: what stands in the tab of the browser.
        content: all that it says. The template shows it, and as JSON it is the page, so nothing is hidden in only one.
        status: the status of HTTP.
        chosen: fields of the query string that the page has chosen itself. When it is read again, they stay.
    """

    template: str
    title: str
    content: dict[str, Any]
    status: int = 200
    chosen: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """What a change has done. The browser is led back to the page that asked for it, which says this.

    Attributes:
        queue: the name of the queue.
        text: what was done, in a sentence.
        command: the ``bullrush`` command that does the same.
        stayed: what was left as it was, and why.
        is_gone: the job of the page is there no more.
        page: the parts of the address of a page of the queue that says more. The browser is led to it instead.
        job: the job to whose page the browser is led instead.
        further: what else a program gets.
        counts: how many jobs were changed and how many were not, if these were many.
    """

    queue: str
    text: str
    command: str
    stayed: Sequence[str] = ()
    is_gone: bool = False
    page: Sequence[str] = ()
    job: str | None = None
    further: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """Return what a program gets."""
        said = {"queue": self.queue, "done": self.text, "command": self.command, "stayed": list(self.stayed)}
        return {**said, **self.further}


@dataclass(frozen=True)
class Asked:
    """A request of somebody who is known.

    Attributes:
        request: the request.
        viewer: who it is.
        source: where the queues are.
        masks: what is hidden.
        parts: what the address names: ``queue`` and ``id``.
        form: the fields of a form.
        bulks: the changes of many jobs that were asked for.
        audit: what was changed.
        changing: the handle of the queue in the address, if it is changed: one that refuses queues of Bull.
    """

    request: Request
    viewer: Viewer
    source: Source
    masks: Masks
    parts: dict[str, str]
    form: dict[str, str]
    bulks: Bulks
    audit: Audit
    changing: Queue | None = None

    @property
    def queue_name(self) -> str:
        """The name of the queue in the address."""
        return self.parts["queue"]

    @property
    def queue(self) -> Queue:
        """The queue in the address."""
        return self.changing or self.source.queue(self.queue_name)

    def query(self, name: str) -> str | None:
        """Return a field of the query string, None if it is missing or empty."""
        return self.request.query_params.get(name) or None

    def position(self, name: str) -> int:
        """Return a field of the query string that is a position, 0 by default."""
        text = self.query(name) or "0"
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    def field(self, name: str) -> str:
        """Return a field of the form.

        Raises:
            RefusalError: it is missing.
        """
        if not self.form.get(name):
            raise RefusalError(400, f"The form has no field {name!r}.")
        return self.form[name]

    def note(
        self,
        what: str,
        outcome: str,
        *,
        done: bool,
        job: str | None = None,
        filter: Mapping[str, str] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Note in the audit what has come of a change.

        Args:
            what: what was asked for.
            outcome: a sentence.
            done: it was made.
            job: the job.
            filter: which jobs were meant.
            counts: how many were changed.
        """
        # Nobody knows whether a filter quotes a masked text.
        meant = {
            name: HIDDEN if name == "where" and self.masks.needed else value for name, value in (filter or {}).items()
        }
        source = None if self.request.client is None else self.request.client.host
        who, where = self.viewer.name, (self.audit.server, self.audit.prefix, self.queue_name)
        text = self.masks.hide(outcome)
        self.audit.note(Line(who, source, *where, what, job, meant, text, done, counts or {}))


async def demand_known(queue: Queue) -> None:
    """Refuse a queue that does not exist.

    Raises:
        RefusalError: it has no settings, no jobs and no schedulers.
    """
    if await queue.get_meta() or any((await queue.get_job_counts(routes=True)).values()):
        return
    if not await queue.get_job_schedulers_count():
        raise RefusalError.no_queue(queue.name)
