"""How much a recorder keeps of many events: written by a script, as BullMQ writes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from redis import Redis

from bullrush.embedded import EmbeddedRedis
from bullrush.recorder import Recorder, RecorderProgress
from bullrush.recorder.recorder import EVENTS_PER_SECOND

#: Events per second: what a recorder is made for by default, and a flood; and for how many seconds.
USUAL, LONG = 20_000, 30
FLOOD, SHORT = 180_000, 20
#: Rates that are tried until something is left out each time, and for how many seconds. Other programs of the machine
#: may hold up one try, but hardly each.
_RATES: Final = range(10_000, 200_001, 10_000)
_SECONDS: Final = 10
_TRIES: Final = 3
ATTEMPTS: Final = 100_000
#: A rate that is written in the end, but late, would not do for long.
_LATE: Final = 1.0
_NO_BOUND: Final = 1_000_000_000
_EVENTS_OF_A_JOB: Final = 4
#: So many jobs wait before they run; each 50th fails.
_WAITING: Final = 2_000
#: Jobs that one call of the script writes at most: Redis serves nobody else meanwhile.
_AT_ONCE: Final = 250
_PAUSE: Final = 0.005
#: No more events are written if none were for so many seconds.
_SILENCE: Final = 5.0

_SCRIPT: Final = """
local function add(...) redis.call('XADD', KEYS[1], 'MAXLEN', '~', 10000, '*', 'event', ...) end
local waiting, jobs = tonumber(ARGV[3]), tonumber(ARGV[4])
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  if n < jobs then
    add('added', 'jobId', n, 'name', 'welcome')
    add('waiting', 'jobId', n)
  end
  local ends = n - waiting
  if ends >= 0 then
    add('active', 'jobId', ends, 'prev', 'waiting')
    if ends % 50 == 0 then
      add('failed', 'jobId', ends, 'failedReason', 'no such user ' .. ends, 'prev', 'active')
    else
      add('completed', 'jobId', ends, 'returnvalue', '"sent"', 'prev', 'active')
    end
  end
end
"""


class Found(NamedTuple):
    """What a recorder has kept.

    Attributes:
        kept: the share of the events that were written into the file.
        gaps: how often events may be missing.
        late: how many seconds after the last event the file had it; None if not all were seen.
    """

    kept: float
    gaps: int
    late: float | None


def most_without_loss(folder: Path) -> int:
    """Return the highest of the rates at which nothing is left out and the file is not behind."""
    best = 0
    for rate in _RATES:
        if not any(_keeps_all(folder / f"try-{n}", rate) for n in range(_TRIES)):
            break
        best = rate
    return best


def _keeps_all(folder: Path, rate: int) -> bool:
    folder.mkdir(exist_ok=True)
    found = flood(folder, rate, _SECONDS, bound=_NO_BOUND)
    return found.kept == 1 and not found.gaps and found.late is not None and found.late <= _LATE


def flood(folder: Path, per_second: int, seconds: float, *, bound: int = EVENTS_PER_SECOND) -> Found:
    """Record while events come at this rate."""
    jobs = int(per_second * seconds) // _EVENTS_OF_A_JOB
    with _recording(folder / f"flood-{per_second}-{bound}.db", bound) as (recorder, redis):
        _write(redis, jobs, per_second)
        ended = time.monotonic()
        told = settled(recorder, jobs * _EVENTS_OF_A_JOB)
        late = time.monotonic() - ended
    events = jobs * _EVENTS_OF_A_JOB
    return Found(told.kept / events, told.gaps, late if told.events == events else None)


def bytes_of_attempts(folder: Path) -> int:
    """Return how large a file with so many attempts is."""
    file = folder / "size.db"
    with _recording(file, EVENTS_PER_SECOND) as (recorder, redis):
        _write(redis, ATTEMPTS, USUAL)
        settled(recorder, ATTEMPTS * _EVENTS_OF_A_JOB)
    return file.stat().st_size


@contextmanager
def _recording(file: Path, bound: int) -> Iterator[tuple[Recorder, Redis]]:
    with (
        EmbeddedRedis(port=0, password="") as server,
        Redis.from_url(server.url) as redis,
        Recorder(file, server.url, queues=["mail"], events_per_second=bound) as recorder,
    ):
        running = threading.Thread(target=recorder.run)
        running.start()
        yield recorder, redis
        recorder.stop()
        running.join()


def _write(redis: Redis, jobs: int, per_second: int) -> None:
    """Write the events of jobs at a rate."""
    script = redis.register_script(_SCRIPT)
    began, done = time.monotonic(), 0
    while done < jobs + _WAITING:
        due = int((time.monotonic() - began) * per_second / _EVENTS_OF_A_JOB)
        until = min(due, done + _AT_ONCE, jobs + _WAITING)
        if until == done:
            time.sleep(_PAUSE)
            continue
        script(keys=["bull:mail:events"], args=[done, until, _WAITING, jobs])
        done = until


def settled(recorder: Recorder, events: int | None = None) -> RecorderProgress:
    """Wait until so many events were seen and written, or until no more are."""
    told, since = recorder.progress(), time.monotonic()
    while told.events != events and time.monotonic() - since < _SILENCE:
        time.sleep(0.02)
        if (now := recorder.progress()).events != told.events:
            told, since = now, time.monotonic()
    return told
