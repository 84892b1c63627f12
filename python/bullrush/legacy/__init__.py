"""Queues of Bull, BullMQ's predecessor: read, fill, and move to BullMQ."""

from bullrush.legacy.adding import LegacyDebounce
from bullrush.legacy.backoff import bull_backoff
from bullrush.legacy.flavor import Flavor, Layout
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.migrating.options import place
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import LegacyState
from bullrush.legacy.repeatable import Repeatable
from bullrush.legacy.report import (
    BridgeReport,
    LegacyClient,
    LegacyUse,
    MigrationReport,
    Progress,
    Remark,
    Verification,
)

__all__ = [
    "BridgeReport",
    "Flavor",
    "Layout",
    "LegacyClient",
    "LegacyDebounce",
    "LegacyJob",
    "LegacyQueue",
    "LegacyState",
    "LegacyUse",
    "MigrationReport",
    "Progress",
    "Remark",
    "Repeatable",
    "Verification",
    "bull_backoff",
    "place",
]
