"""What bullrush asks of a tracer, and how a trace travels with a job. `bullrush.otel` has the tracer for OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict

from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.checks import Check

#: What a span stands for: work inside, handing a job on, running one.
SpanKind: TypeAlias = Literal["internal", "producer", "consumer"]


class Span(Protocol):
    """One piece of work that is under way."""

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Say more about it: strings, numbers, booleans or lists of them."""

    def add_event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Note that something happened in the course of it."""

    def record_exception(self, error: BaseException) -> None:
        """Note what went wrong, and that the work failed."""


class Telemetry(Protocol):
    """Opens spans, and turns the current context into text and back."""

    def span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        *,
        parent: str | None = None,
        links: Sequence[str] = (),
    ) -> AbstractContextManager[Span]:
        """Open a span, which is the current one until the block is left. An exception that leaves the block is recorded.

        Args:
            name: of the span.
            kind: of the span.
            attributes: of the span.
            parent: None: the current context. Else what `metadata` returned elsewhere; an empty or unreadable text begins a new
                trace.
            links: contexts, as `metadata` returned them, that led to this span and are not its parent.
        """

    def metadata(self) -> str:
        """Return the current context as a text to be stored with a job."""


class JobTelemetry(TypedDict, total=False):
    """What is stored with a job of the trace that it belongs to.

    Attributes:
        metadata: the context of its producer, as text. A tracer sets it; give one here to replace it in `Queue.add_bulk`.
        omit_context: True stores no context: the job begins a trace of its own.
    """

    metadata: str
    omit_context: bool


class _NoSpan:
    """Stands for a span where nothing is traced."""

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
        InvalidOptionError: it is something else.
    """
    if not all(callable(getattr(value, method, None)) for method in ("span", "metadata")):
        raise InvalidOptionError(
            f"{name} must be an object like bullrush.otel.OpenTelemetry(), with span() and metadata(), not {value!r}"
        )
    return value


def _metadata(name: str, value: object) -> object:
    # False is what BullMQ stores in add_bulk and flows for a context that is left out.
    return value if value is False else checks.text(name, value)


_MEMBERS: Final[dict[str, Check]] = {"metadata": _metadata, "omit_context": checks.boolean}


def check_job_telemetry(name: str, value: object) -> Mapping[str, Any]:
    """Return the ``telemetry`` of a job's options.

    Raises:
        InvalidOptionError: it is something else.
    """
    return checks.members(name, value, _MEMBERS)


def of_one_job(telemetry: Telemetry, given: object) -> Mapping[str, object]:
    """Return the ``telemetry`` option of a job of `Queue.add`: the current context, whatever metadata was given."""
    own = check_job_telemetry("telemetry", given or {})
    return own if own.get("omit_context") else {"metadata": telemetry.metadata()}


def of_many_jobs(context: str, given: object) -> Mapping[str, object]:
    """Return the same for `Queue.add_bulk`, flows and schedulers: metadata that was given wins over the current context."""
    own = check_job_telemetry("telemetry", given or {})
    if own.get("metadata"):
        return own
    return {**own, "metadata": False if own.get("omit_context") else context}
