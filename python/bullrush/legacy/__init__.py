"""Queues of Bull, BullMQ's predecessor: read, fill, and move to BullMQ."""

from bullrush.legacy.adding import LegacyDebounce
from bullrush.legacy.advice import advice
from bullrush.legacy.backoff import bull_backoff
from bullrush.legacy.convert import TakenIds
from bullrush.legacy.discovery import LegacyStatus, find_legacy, look_at
from bullrush.legacy.flavor import ADVICE_FOR_BOTH, Flavor, Layout, Users, check_colons, read_users
from bullrush.legacy.job import LegacyJob
from bullrush.legacy.migrating.claims import count_claimed
from bullrush.legacy.migrating.moved import new_ids
from bullrush.legacy.migrating.options import place
from bullrush.legacy.migrating.servers import naming_server
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
from bullrush.legacy.signpost import Signpost, read_signpost
from bullrush.legacy.wrong_types import wrong_type

__all__ = [
    "ADVICE_FOR_BOTH",
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
    "TakenIds",
    "Users",
    "Verification",
    "advice",
    "bull_backoff",
    "check_colons",
    "count_claimed",
    "find_legacy",
    "look_at",
    "naming_server",
    "new_ids",
    "place",
    "read_signpost",
    "read_users",
    "wrong_type",
]
