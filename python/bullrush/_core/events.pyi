"""The event stream of a queue."""

from typing import final

from .pending import Pending

@final
class CoreEvents:
    """Reads the event stream of one queue on a connection of its own, for one process."""

    def start(self) -> bool:
        """Connect and find where to begin. Entries are read only while somebody listens or waits.

        Returns whether this call has started it.
        """
    def ready(self, timeout_ms: int) -> Pending[None]:
        """Wait until it is known where to begin, and that the queue is BullMQ's."""
    def listen(self) -> CoreListening:
        """Listen to the entries after the last one that was delivered."""
    def wait_until_finished(self, job_id: str, timeout_ms: int, late: bool) -> Pending[tuple[str, str] | None]:
        """Wait for the end of a job, from this call on: (completed, returnvalue), (failed, reason), (removed, state).

        ``late``: an end that was read before this call counts, too. The result is None after ``timeout_ms``;
        `ClosedError` is raised when reading ends.
        """
    def close(self) -> None: ...

@final
class CoreListening:
    """One listener's place in the stream."""

    def next(self, timeout_ms: int | None = None) -> Pending[list[tuple[str, dict[str, str]]] | None]:
        """Wait for entries, each an id and fields: [] after ``timeout_ms``, None at the end.

        Raises errors of the reading.
        """
    def leave(self, seen: str | None = None) -> None:
        """Stop listening. If nobody else listens, the next listener gets what follows ``seen``."""
