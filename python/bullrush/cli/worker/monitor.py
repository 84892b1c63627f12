"""What one process tells monitors about its workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Final

from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError
from bullrush.extending import merged_metrics, monitored_queue

_TIMEOUT_MS: Final = 1_000


class Monitor:
    """The health and the metrics of the workers of this process."""

    def __init__(self, workers: Sequence[AnyWorker]) -> None:
        self._workers: Sequence[Any] = workers
        #: The workers have ended, and Python may be ending.
        self.over = False
        self._routed = any(worker.profile is not None for worker in self._workers)
        queues = [monitored_queue(worker, name, _TIMEOUT_MS) for worker in workers for name in worker.queue_names]
        self._queues = list({queue.qualified_name: queue for queue in queues}.values())

    def health(self) -> list[dict[str, Any]]:
        """Return the health of each worker."""
        found = self._of_all(lambda worker: worker.health())
        return [{**asdict(health), "healthy": health.healthy} for health in found]

    def metrics(self) -> str:
        """Return the metrics of what ran in this process."""
        return merged_metrics(self._of_all(lambda worker: worker.export_prometheus_metrics(problems=True)))

    def queues(self) -> str:
        """Return the metrics of the queues; nothing for one that Redis does not tell."""
        texts = []
        for queue in self._queues:
            try:
                texts.append(queue.export_prometheus_metrics(oldest_job=True, routes=self._routed))
            except BullrushError:
                continue
        return merged_metrics(texts)

    def _of_all(self, ask: Callable[[Any], Any]) -> list[Any]:
        """Ask all workers at the same time: without Redis each takes a second."""
        if self.over:  # pools take nothing any more
            return [_result(ask(worker)) for worker in self._workers]
        with ThreadPoolExecutor(max(1, len(self._workers))) as asking:
            return list(asking.map(lambda worker: _result(ask(worker)), self._workers))


def _result(begun: Any) -> Any:
    return asyncio.run(begun) if asyncio.iscoroutine(begun) else begun
