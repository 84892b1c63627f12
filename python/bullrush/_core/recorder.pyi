"""What a history is written from."""

from typing import final

from .pending import Pending

@final
class CoreRecorder:
    """Follows the event streams of many queues, on one connection per server, and writes nothing.

    It reads on while nobody takes what it has read, until it holds some hundred thousand events.

    Args:
        client_name: the name of its connections in CLIENT LIST.
        events_per_second: how many events of jobs may be kept in the long run; above that it keeps a sample of the
            jobs.
    """

    def __new__(cls, url: str, prefix: str, *, client_name: str, events_per_second: int) -> CoreRecorder: ...
    def follow(self, queues: list[tuple[str, str | None]]) -> None:
        """Follow these queues, too.

        Each has the id of the last entry that is known, or None for the beginning of its stream. A queue that is
        followed already goes on from where it is.
        """
    def next(self, timeout_ms: int) -> Pending[tuple[list[SeenEvents], int | None] | None]:
        """Wait until something was read; [] after ``timeout_ms``. None: it was closed, and all was returned.

        The number is a time in ms: everything that was written before is in what was returned until now, but for queues
        that cannot be read.
        """
    def close(self) -> None:
        """Stop reading. What was read can still be taken."""

@final
class SeenEvents:
    """What was read of one queue."""

    #: "" if a whole server cannot be read; then there is an error and nothing else.
    queue: str
    #: From where to read on.
    position: str
    #: The kind, the job, when Redis wrote it, and a text: the name, the state before, when it is due, or the reason.
    events: list[tuple[str, str, int, str | None]]
    #: By the minutes since 1970 how many events there were of all jobs, in the order of `RECORDED_EVENTS`.
    minutes: list[tuple[int, list[int]]]
    #: Events may be missing after the first time and before the second.
    gap: tuple[int, int] | None
    #: When the oldest entry came, at the first read of a stream from its beginning.
    since: int | None
    #: One of how many jobs is in ``events``; jobs outside this sample are missing behind the position before.
    share: int
    #: Why it cannot be read; told once as long as it lasts.
    error: Exception | None
