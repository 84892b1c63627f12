"""What has happened in a round, according to the ledgers and to Redis."""

import itertools
import json
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis import Redis

from .ledger import read_lines

if TYPE_CHECKING:
    from .round import Round

LISTS, SETS = ("wait", "active", "paused"), ("completed", "failed", "delayed", "prioritized", "waiting-children")
FIELDS = ("data", "returnvalue", "failedReason", "atm", "finishedOn", "stc")

#: Reads some events and returns where to go on, and the jobs that have finished. Most of millions of events say other
#: things.
FINISHED = """
local jobs = {}
local events = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 5000)
for _, event in ipairs(events) do
  local fields, job, over = event[2], nil, false
  for at = 1, #fields, 2 do
    if fields[at] == 'jobId' then job = fields[at + 1] end
    if fields[at] == 'event' then over = fields[at + 1] == 'completed' or fields[at + 1] == 'failed' end
  end
  if over then jobs[#jobs + 1] = job end
end
return {#events > 0 and '(' .. events[#events][1] or '', jobs}
"""


@dataclass
class Run:
    """One start of a handler."""

    name: str
    key: str
    process: str
    began: float
    #: How often the job had been started then, this start included.
    start: int
    ended: float | None = None
    #: When its process learned that Redis has accepted its outcome.
    accepted: float | None = None


@dataclass
class Stored:
    """A job as Redis has it."""

    id: str
    place: str
    key: str
    #: The run whose outcome was accepted, if it is known.
    run: str | None
    attempts: int
    finished: float | None


@dataclass
class History:
    #: When the add of a job was acknowledged, and by which process.
    acknowledged: dict[str, tuple[float, str]] = field(default_factory=dict)
    #: Jobs whose add may or may not have been executed.
    unknown: set[str] = field(default_factory=set)
    runs: dict[str, list[Run]] = field(default_factory=lambda: defaultdict(list))
    by_name: dict[str, Run] = field(default_factory=dict)
    stored: dict[str, list[Stored]] = field(default_factory=lambda: defaultdict(list))
    places: Counter[str] = field(default_factory=Counter)
    #: By job id, how often the event stream says that it was completed or failed for good.
    outcomes: Counter[str] = field(default_factory=Counter)
    ids: dict[str, str] = field(default_factory=dict)
    keys_left: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, round: "Round") -> "History":
        history = cls()
        for process in round.processes.all:
            history._read_ledger(process.name, process.ledger)
        history._read_ledger("driver", round.folder / "driver.ledger")
        round.topology.retried(lambda redis: history._read_redis(redis, round.queue))
        return history

    def _read_ledger(self, process: str, path: Any) -> None:
        for line in read_lines(path):
            match line.fact:
                case "a":
                    self.acknowledged[line.key] = line.at, process
                case "u":
                    self.unknown.add(line.key)
                case "b":
                    run = Run(line.run, line.key, process, line.at, line.start)
                    self.runs[line.key].append(run)
                    self.by_name[run.name] = run
                case "e" if line.run in self.by_name:
                    self.by_name[line.run].ended = line.at
                case "d" if line.run in self.by_name:
                    self.by_name[line.run].accepted = line.at

    def _read_redis(self, redis: "Redis[str]", queue: str) -> None:
        base, offset = f"bull:{queue}:", time.time() - time.monotonic()
        self.stored.clear(), self.places.clear(), self.outcomes.clear(), self.ids.clear(), self.keys_left.clear()
        for place in (*LISTS, *SETS):
            ids = redis.lrange(base + place, 0, -1) if place in LISTS else redis.zrange(base + place, 0, -1)
            self.places.update(ids)
            for some in chunks(ids):
                with redis.pipeline(transaction=False) as pipe:
                    for job_id in some:
                        pipe.hmget(base + job_id, FIELDS)
                    for job_id, values in zip(some, pipe.execute(), strict=True):
                        self._store(job_id, place, values, offset)
        start = "-"
        while start:
            start, finished = redis.eval(FINISHED, 1, base + "events", start)
            self.outcomes.update(finished)
        self.keys_left += [
            key.removeprefix(base) for key in redis.scan_iter(base.replace("{", "[{]") + "*", count=5000)
        ]

    def _store(self, job_id: str, place: str, values: list[str | None], offset: float) -> None:
        data, returned, reason, attempts, finished, _ = values
        if data is None:
            self.ids[job_id] = ""
            return
        key = json.loads(data)["k"]
        self.ids[job_id] = key
        at = float(finished) / 1000 - offset if finished else None
        self.stored[key].append(Stored(job_id, place, key, run_of(returned) or run_of(reason), int(attempts or 0), at))

    def outcome_at(self, stored: Stored) -> float | None:
        """Return when a job had its outcome, on the monotonic clock."""
        run = self.by_name.get(stored.run or "")
        if run and (run.accepted or run.ended):
            return run.accepted or run.ended
        return stored.finished


def run_of(text: str | None) -> str | None:
    """Return the run that a result or a reason names."""
    try:
        return str(json.loads(text or "")["run"])
    except (ValueError, TypeError, KeyError):
        return None


def chunks(items: list[str], size: int = 1000) -> "itertools.chain[list[str]] | list[list[str]]":
    return [items[at : at + size] for at in range(0, len(items), size)]
