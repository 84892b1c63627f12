"""The steps of a sequence, done with bullrush's public API, job by job and on a stopped clock."""

from typing import Any

from bullrush import Job, Worker
from bullrush._core import now_ms, stop_clock
from bullrush.errors import UnrecoverableError

from .queue_side import QueueSide
from .results import Batch, Failed, snaked
from .state import coarse_ttl


class ManualSide(QueueSide):
    """Our queue and manual workers. The clock of this process stops; start it again afterwards."""

    def __init__(self, url: str, queue: str, prefix: str = "bull", *, fan_out: bool = False) -> None:
        super().__init__(url, queue, prefix, fan_out=fan_out)
        self._workers: dict[str, Worker] = {}

    def set_clock(self, now: int) -> None:
        stop_clock(now)

    def _worker(self, options: dict[str, Any]) -> Worker:
        """Return the worker with these options (BullMQ's names)."""
        key = repr(options)
        if key not in self._workers:
            settings = {"max_backoff": None, "fan_out": self._fan_out, **snaked(options)}
            self._workers[key] = Worker(self._name, url=self._url, prefix=self._prefix, **settings)
        return self._workers[key]

    def _held(self, id: str, options: dict[str, Any]) -> Job:
        """Return the job from Redis, bound to a worker; for a missing job a placeholder, to see the refusal."""
        return Job(self._job(id)._record, self._worker(options))

    # workers
    def fetch(self, token: str, **worker: Any) -> Any:
        return _id(self._worker(worker).get_next_job(token, block=False))

    def fetch_many(self, count: int, token: str, **worker: Any) -> Any:
        ids = []
        while len(ids) < count and (id := self.fetch(token, **worker)):
            ids.append(id)
        return ids

    def complete(self, id: str, value: Any, token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return _id(self._held(id, worker).move_to_completed(value, token, fetch_next))

    def complete_many(self, values: dict[str, Any], token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return _batch({id: self.complete(id, value, token, fetch_next, **worker) for id, value in values.items()})

    def fail(
        self, id: str, message: str, token: str, *, unrecoverable: bool = False, fetch_next: bool = False, **worker: Any
    ) -> Any:
        error = UnrecoverableError(message) if unrecoverable else RuntimeError(message)
        return _id(self._held(id, worker).move_to_failed(error, token, fetch_next).next_job)

    def fail_many(self, reasons: dict[str, str], token: str, **worker: Any) -> Any:
        return _batch({id: self.fail(id, reason, token, **worker) for id, reason in reasons.items()})

    def move_to_delayed(self, id: str, delay: int, token: str) -> Any:
        self._held(id, {}).move_to_delayed(now_ms() + delay, token)

    def move_to_wait(self, id: str, token: str) -> Any:
        return coarse_ttl(self._held(id, {}).move_to_wait(token))

    def move_to_waiting_children(self, id: str, token: str, child: dict[str, str] | None = None) -> Any:
        return self._held(id, {}).move_to_waiting_children(token, child=child)

    def extend_locks(self, duration: int, held: dict[str, str]) -> Any:
        return [id for id, token in held.items() if not self._held(id, {}).extend_lock(token, duration)]

    def stalled(self, **worker: Any) -> Any:
        return self._worker(worker).move_stalled_jobs_to_wait()

    def stalled_in_parts(self, limit: int, **worker: Any) -> Any:
        return sorted(self.stalled(**worker))


def _id(job: Job | None) -> str | None:
    return None if job is None else job.id


def _batch(results: dict[str, Any]) -> Batch:
    refused = {id: result.code for id, result in results.items() if isinstance(result, Failed)}
    return Batch(refused, [result for result in results.values() if isinstance(result, str)])
