"""The compiled core: connections, scripts, timers and the worker engine. None of it holds the GIL while it waits.

At run time all names are in the one module `bullrush._core`. The parts are there for readers and type checkers only:
they follow the folders of `src/bindings`, and cannot be imported.
"""

from collections.abc import Mapping, Sequence

from .arrow import AutoIds as AutoIds
from .arrow import CoreReader as CoreReader
from .arrow import CoreReading as CoreReading
from .arrow import CoreRows as CoreRows
from .arrow import RowPlan as RowPlan
from .arrow import json_as_rows as json_as_rows
from .arrow import rows_as_json as rows_as_json
from .endpoint import UrlParts as UrlParts
from .endpoint import mask_url as mask_url
from .endpoint import read_url as read_url
from .events import CoreEvents as CoreEvents
from .events import CoreListening as CoreListening
from .jobs import JobRecord as JobRecord
from .jobs import NewJobRecord as NewJobRecord
from .jobs import NewJobs as NewJobs
from .keys import QueueKey as QueueKey
from .notifications import CoreNotifications as CoreNotifications
from .pending import Completions as Completions
from .pending import Pending as Pending
from .queue import CoreQueue as CoreQueue
from .reads import Condition as Condition
from .recorder import CoreRecorder as CoreRecorder
from .recorder import SeenEvents as SeenEvents
from .route import CoreProfile as CoreProfile
from .route import CoreTarget as CoreTarget
from .watch import ConnectionWatch as ConnectionWatch
from .worker import CoreWorker as CoreWorker
from .worker import WorkerEvent as WorkerEvent

__version__: str

#: The version that queues write to ``meta``, as BullMQ's queues do.
BULLMQ_VERSION: str

#: The names of the options of a queue, and of a worker, that the core reads.
QUEUE_OPTIONS: tuple[str, ...]
WORKER_OPTIONS: tuple[str, ...]
#: What a worker does again and again; parts of the names in `CoreWorker.stats`.
WORKER_LOOPS: tuple[str, ...]

#: The kinds of events that a history is written from.
RECORDED_EVENTS: tuple[str, ...]

#: All keys that a queue may have. `obliterate` empties those that have members in this order.
QUEUE_KEYS: tuple[QueueKey, ...]

def take_notes() -> list[str]:
    """Return what the core has noted about its connections since the last call, for the log."""

def fits(conditions: Sequence[Condition], values: Mapping[str, bytes]) -> bool:
    """Return whether a job fits, by values of its fields; its id is not looked at."""

def now_ms() -> int:
    """Return the wall clock in ms, the unit of all times in BullMQ's fields."""

def stop_clock(at: int | None) -> None:
    """Stop `now_ms` at one moment in the whole process, for tests.

    None sets it to the system's time and lets it run.
    """

def advance_clock(ms: int) -> None:
    """Move `now_ms` ahead in the whole process, for tests, and wake idle workers. It goes on from there."""

def check_cron(pattern: str, tz: str) -> None:
    """Check a cron pattern and a time zone as those of a job scheduler.

    Raises:
        InvalidOptionError: one of them cannot be read, or the pattern never fires.
    """

def cron_next(pattern: str, tz: str | None, after: int, skips_lost_midnights: bool = False) -> int | None:
    """Return when a cron pattern fires next after a moment, both in ms since 1970.

    None for never. ``tz`` None is the local zone.

    ``skips_lost_midnights`` is ``dst="bullmq"`` of `RepeatOptions`.

    Raises:
        InvalidOptionError: the pattern or the time zone cannot be read.
    """

def exit_after_signals(
    descriptor: int, first_ms: int | None, second_ms: int, together_ms: int, give_back_ms: int, code: int
) -> None:
    """End the process some time after SIGTERM or SIGINT, whatever Python does; on a native thread that needs no GIL.

    Just before, it does what `give_back_held` does.

    Args:
        descriptor: the reading end of the pipe into which `signal.set_wakeup_fd` writes. It is taken over.
        first_ms: ms after the first signal; None is never.
        second_ms: ms after the second signal.
        together_ms: ms within which a SIGTERM counts as the one before.
        give_back_ms: ms for giving back jobs.
        code: the exit code.
    """

def give_back_held(time_ms: int) -> None:
    """Give back the jobs that the workers of this process hold, which end; for at most that many ms.

    The process must end then: a handler that goes on runs beside the next one of its job.
    """

def route_base(queue: str) -> str | None:
    """Return the base of a queue that is a route, by its name; None for other queues."""

def in_sample(job_id: str, share: int) -> bool:
    """Return whether a job is in the sample of one of ``share`` jobs."""

def key_slot(key: str) -> int:
    """Return the slot of a key on a cluster."""

def is_key_of_queue(name: str) -> bool:
    """Return whether a key, named without its ``<prefix>:<queue>:``, is one of the queue itself, not of a job."""

def owner_of_key(name: str) -> str:
    """Return the id of the job to which a key belongs: its hash, its log, its lock..."""

def is_reserved_id(id: str) -> bool:
    """Return whether a job with this id would overwrite a key of the queue, or might do so in a later version."""

def script_sources() -> dict[str, tuple[str, str]]:
    """Return every Lua script as ``{"family/name": (source, sha1)}``, exactly as it is sent to Redis."""

def script_contracts() -> dict[str, str]:
    """Return what each script does, takes and returns, the top comment of its file: ``{"family/name": text}``."""
