"""Jobs that are fetched and finished one call at a time."""

from typing import final

from .jobs import JobRecord
from .pending import Pending
from .worker import CoreWorkerOptions

@final
class ManualWork:
    """A worker's fetch and finish, one call at a time. Connects at first use; after a fork the child makes connections of its own."""

    def __new__(cls, url: str, prefix: str, name: str, options: CoreWorkerOptions) -> ManualWork: ...
    def get_next_job(self, token: str, block: bool) -> Pending[JobRecord | None]: ...
    def move_to_completed(
        self, id: str, token: str, opts: bytes, value: bytes, fetch_next: bool
    ) -> Pending[JobRecord | None]: ...
    def move_to_failed(
        self,
        id: str, token: str, opts: bytes, made: int, stacktrace: bytes | None,
        reason: str, stack: str, retry: bool, delay: int | None, fetch_next: bool,
    ) -> Pending[tuple[tuple[int, int] | None, str, str, JobRecord | None]]:  # fmt: skip
        """Return the next attempt, the reason, the job's stack traces and the next job; see `CoreWorker.fail`.

        The next attempt is its delay and when it is due, None if the job has failed for good.
        """
    @staticmethod
    def needs_strategy(opts: bytes, made: int) -> str | None:
        """Return the backoff type if only a custom strategy can compute the delay after attempt ``made`` + 1, else None."""
    def take_warnings(self) -> list[str]:
        """Return what happened since the last call and belongs in the log."""
    def extend_job_locks(self) -> Pending[list[str]]: ...
    def move_stalled_jobs_to_wait(self) -> Pending[list[str]]: ...
    def register(self) -> Pending[None]:
        """Check the server and the queue, and open the connection by which others find a worker. `get_next_job` does this, too."""
    def unregister(self) -> None:
        """Close that connection until it is needed again."""
    def close(self) -> None:
        """End pending waits for a job, and that connection."""
