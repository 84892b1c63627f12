"""Queues of Bull, BullMQ's predecessor: read, fill, and move to BullMQ."""

from bullrush.legacy.adding import LegacyDebounce
from bullrush.legacy.backoff import bull_backoff
from bullrush.legacy.discovery import LegacyStatus, find_legacy
from bullrush.legacy.flavor import Flavor, Layout
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.migrating.options import place
from bullrush.legacy.migrating.signpost import Signpost, read_signpost
from bullrush.legacy.queue import LegacyQueue
from bullrush.legacy.reading import LegacyState
from bullrush.legacy.repeatable import Repeatable
from bullrush.legacy.report import (
    BridgeReport,
    GivenBack,
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
    "GivenBack",
    "Layout",
    "LegacyClient",
    "LegacyDebounce",
    "LegacyJob",
    "LegacyQueue",
    "LegacyState",
    "LegacyStatus",
    "LegacyUse",
    "MigrationReport",
    "Progress",
    "Remark",
    "Repeatable",
    "Signpost",
    "Verification",
    "bull_backoff",
    "find_legacy",
    "place",
    "read_signpost",
]
