"""What one process tells monitors about its workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError
from bullrush.worker.monitoring.prometheus import merged

_TIMEOUT_MS: Final = 1_000


class Monitor:
    """The health and the metrics of the workers of this process."""

    def __init__(self, workers: Sequence[AnyWorker]) -> None:
        self._workers: Sequence[Any] = workers
        self._routed = any(worker.profile is not None for worker in self._workers)
        queues = [queue for worker in workers for queue in worker.monitored_queues(_TIMEOUT_MS)]
        self._queues = list({queue.qualified_name: queue for queue in queues}.values())

    def health(self) -> list[dict[str, Any]]:
        """Return the health of each worker."""
        found = [_result(worker.health()) for worker in self._workers]
        return [{**asdict(health), "healthy": health.healthy} for health in found]

    def metrics(self) -> str:
        """Return the metrics of what ran in this process."""
        return merged(_result(worker.export_prometheus_metrics()) for worker in self._workers)

    def queues(self) -> str:
        """Return the metrics of the queues; nothing for one that Redis does not tell."""
        texts = []
        for queue in self._queues:
            try:
                texts.append(queue.export_prometheus_metrics(oldest_job=True, routes=self._routed))
            except BullrushError:
                continue
        return merged(texts)


def _result(begun: Any) -> Any:
    return asyncio.run(begun) if asyncio.iscoroutine(begun) else begun
