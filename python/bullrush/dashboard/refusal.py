"""A request that is answered with one sentence."""

from __future__ import annotations

from bullrush.errors import (
    BullrushError,
    ConnectionLostError,
    InvalidOptionError,
    JobNotFoundError,
    OutcomeUnknownError,
    QueueNameError,
    RedisServerError,
    ResultCodeError,
)


class RefusalError(Exception):
    """A request cannot be answered with a page.

    Attributes:
        status: the status of HTTP.
        sentence: what the page says.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status: int = status
        self.sentence: str = sentence

    @classmethod
    def no_queue(cls, name: str) -> RefusalError:
        """Return the answer for a queue that does not exist, and for one that the viewer may not see."""
        return cls(404, f"There is no queue {name!r} that you may see.")

    @classmethod
    def no_job(cls, queue: str, job_id: str) -> RefusalError:
        """Return the answer for a job that is not there."""
        return cls(404, f"The queue {queue!r} has no job {job_id!r}: it was removed, or never added.")


def refusal_of(error: BullrushError) -> RefusalError:
    """Return the answer for an error of a call: what happened, and what to do."""
    if isinstance(error, ConnectionLostError):
        return RefusalError(503, "Redis does not answer. Reload the page when it is back; nothing was changed.")
    if isinstance(error, OutcomeUnknownError):
        return RefusalError(503, "Redis has not answered: look whether the change was made, and make it again if not.")
    if isinstance(error, RedisServerError):
        return RefusalError(502, refused(error))
    if isinstance(error, QueueNameError | InvalidOptionError):
        return RefusalError(404, f"{error}")
    if isinstance(error, ResultCodeError):
        return RefusalError(404 if isinstance(error, JobNotFoundError) else 409, f"This was not done: {error}")
    return RefusalError(502, f"{error}")


def refused(error: RedisServerError) -> str:
    """Return what Redis refuses, and who can change that."""
    if error.code == "NOPERM":
        rights = "'bullrush acl reader' prints the rights to look, 'bullrush acl reader producer' those to change, too"
        return f"Redis refuses a right that this page needs: {error}. {rights}."
    if error.code in ("WRONGPASS", "NOAUTH"):
        return f"Redis does not let this dashboard in: {error}. Give the URL of Redis with a user and its password."
    if error.code == "OOM":
        return f"The memory of Redis is full, so it takes no changes but removals: {error}."
    return f"Redis answers with an error: {error}."
