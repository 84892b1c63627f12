"""The protocol of a tracer, and the trace context that is stored with a job.

`bullrush.otel` has the tracer for OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict

from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.checks import Check

#: internal: work in this process; producer: adding a job; consumer: running a job.
SpanKind: TypeAlias = Literal["internal", "producer", "consumer"]


class Span(Protocol):
    """One piece of work in progress."""

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes: strings, numbers, booleans, or lists of them.

        Args:
            attributes: the values by name.
        """

    def add_event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Record that something happened during the work.

        Args:
            name: what happened.
            attributes: the values by name.
        """

    def record_exception(self, error: BaseException) -> None:
        """Record an exception, and that the work failed.

        Args:
            error: the exception.
        """


class Telemetry(Protocol):
    """A tracer: opens spans, and turns the current context into text and back."""

    def span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        *,
        parent: str | None = None,
        links: Sequence[str] = (),
    ) -> AbstractContextManager[Span]:
        """Open a span, which is the current span inside the block. An exception that leaves the block is recorded.

        Args:
            name: the name of the span.
            kind: the kind of the span.
            attributes: the attributes of the span.
            parent: None: the current context. Else a text that `metadata` returned, maybe in another process; an empty
                or unreadable text starts a new trace.
            links: texts that `metadata` returned, of contexts that led to this span and are not its parent.
        """

    def metadata(self) -> str:
        """Return the current context as a text, to be stored with a job."""


class JobTelemetry(TypedDict, total=False):
    """The trace that a job belongs to, as it is stored with the job.

    Attributes:
        metadata: the context of the producer, as text. The tracer sets it; in `Queue.add_bulk` a value given here
            replaces it.
        omit_context: True stores no context: the job starts a trace of its own.
    """

    metadata: str
    omit_context: bool


class _NoSpan:
    """The span of an object without telemetry."""

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Do nothing."""

    def add_event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Do nothing."""

    def record_exception(self, error: BaseException) -> None:
        """Do nothing."""


NO_SPAN: Final[Span] = _NoSpan()


def check_telemetry(name: str, value: object) -> Any:
    """Return a `Telemetry`.

    Raises:
        InvalidOptionError: the value has another type.
    """
    if not all(callable(getattr(value, method, None)) for method in ("span", "metadata")):
        raise InvalidOptionError(
            f"{name} must be an object like bullrush.otel.OpenTelemetry(), with span() and metadata(), not {value!r}"
        )
    return value


def _metadata(name: str, value: object) -> object:
    # BullMQ stores False in add_bulk and in flows for a context that is left out.
    return value if value is False else checks.text(name, value)


_MEMBERS: Final[dict[str, Check]] = {"metadata": _metadata, "omit_context": checks.boolean}


def check_job_telemetry(name: str, value: object) -> Mapping[str, Any]:
    """Return the ``telemetry`` of a job's options.

    Raises:
        InvalidOptionError: the value has another type.
    """
    return checks.members(name, value, _MEMBERS)


def of_one_job(telemetry: Telemetry, given: object) -> Mapping[str, object]:
    """Return the ``telemetry`` option of a job of `Queue.add`: the current context, even if metadata was given."""
    own = check_job_telemetry("telemetry", given or {})
    return own if own.get("omit_context") else {"metadata": telemetry.metadata()}


def of_many_jobs(context: str, given: object) -> Mapping[str, object]:
    """Return it for a job of `Queue.add_bulk`, a flow or a scheduler, where given metadata takes precedence."""
    own = check_job_telemetry("telemetry", given or {})
    if own.get("metadata"):
        return own
    return {**own, "metadata": False if own.get("omit_context") else context}
