"""The steps of a sequence, done by our Lua scripts alone: argument for argument as the core calls them."""

import json
from collections.abc import Callable
from itertools import groupby
from typing import Any

import msgpack
import redis

from tests.interop.peers import FLOOR
from tests.lua.source import flatten

from .client_rules import (
    SCHEDULER_FIELDS,
    SHORT_NAMES,
    first_iteration,
    keep_rule,
    next_iteration_options,
    retry_delay,
    stack_after,
    stored_options,
    to_json,
)
from .linked_jobs import LinkedJobs, is_linked
from .results import Batch, Failed
from .script_management import ScriptManagement
from .state import coarse_ttl

#: Gets a time in ms and the repeat options; returns when the pattern fires next, or None.
Cron = Callable[[int, dict[str, Any]], int | None]


class ScriptSide(LinkedJobs, ScriptManagement):
    """Our scripts on one queue, called with a plain client. ``cron`` returns when a pattern fires next."""

    def __init__(self, client: "redis.Redis[str]", prefix: str, queue: str, cron: Cron) -> None:
        self._client = client
        self._cron = cron
        self._base = f"{prefix}:{queue}:"
        self._shas: dict[str, str] = {}
        self._plain_fields: dict[str, int | str] = {}
        self._now = 0

    def prepare(self) -> None:
        """Write what opening a queue writes."""
        self._client.hset(self._base + "meta", "opts.maxLenEvents", "10000")
        self._client.hsetnx(self._base + "meta", "version", f"bullmq:{FLOOR.version}")

    def set_clock(self, now: int) -> None:
        self._now = now

    def _run(self, script: str, *args: Any) -> Any:
        if script not in self._shas:
            self._shas[script] = str(self._client.script_load(self._source(script)))
        flat = ["" if arg is None else str(int(arg)) if isinstance(arg, bool) else str(arg) for arg in args]
        return self._client.evalsha(self._shas[script], 1, self._base + "meta", *flat)

    def _source(self, script: str) -> str:
        return flatten(script)

    def _hash(self, id: str) -> dict[str, str]:
        return self._client.hgetall(self._base + id)

    # producers
    def add(self, name: str, data: Any = None, **opts: Any) -> Any:
        added = self.add_bulk([{"name": name, "data": data, "opts": opts}])
        return added if isinstance(added, Failed) else added[0]

    def add_bulk(self, jobs: list[dict[str, Any]]) -> Any:
        if any(map(is_linked, jobs)):
            return self.add_linked(jobs)
        args: list[Any] = []
        runs = [(head, list(run)) for head, run in groupby(jobs, key=self._run_of)]
        for (*head, custom_ids), run in runs:
            args += [len(run), *head, custom_ids]
            for job in run:
                args += [job.get("opts", {}).get("jobId", "")] if custom_ids else []
                args.append(to_json(job.get("data")))
        ids: list[str] = []
        for ((*_, custom_ids), run), reply in zip(runs, self._run("add/add_jobs", *args), strict=True):
            ids += [job["opts"]["jobId"] for job in run] if custom_ids else _consecutive(int(reply), len(run))
        return ids

    def _run_of(self, job: dict[str, Any]) -> tuple[Any, ...]:
        opts = job.get("opts", {})
        return (
            job["name"],
            to_json({key: value for key, value in stored_options(opts).items() if key != "jobId"}),
            opts.get("timestamp", self._now),
            opts.get("delay", 0),
            opts.get("priority", 0),
            opts.get("lifo", False),
            bool(opts.get("jobId")),
        )

    def upsert_scheduler(self, id: str, repeat: dict[str, Any], template: dict[str, Any] | None) -> Any:
        template = {"name": id, "data": {}, "opts": {}, **(template or {})}
        count, kept = first_iteration(repeat, self._now)
        if count is None:
            return None
        firing: int | str | None = ""
        if "pattern" in repeat:
            firing = self._now if repeat.get("immediately") else self._cron(self._now, kept)
        if firing is None:
            return None
        opts = {SHORT_NAMES.get(name, name): value for name, value in template["opts"].items()}
        data = to_json(template["data"])
        job_opts = {**opts, "repeat": {**kept, "count": count}, "repeatJobKey": id, "timestamp": self._now}
        fields = {name: kept[name] for name in SCHEDULER_FIELDS if name in kept}
        fields |= {"name": template["name"]}
        fields |= {"opts": to_json(opts)} if opts else {}
        fields |= {"data": data} if data != "{}" else {}
        reply = self._run(
            "add/add_job_scheduler",
            *(self._now, id, firing, kept.get("every", ""), kept.get("startDate", "")),
            *(template["name"], data, to_json(job_opts), opts.get("priority", 0), opts.get("lifo", False)),
            *(opts.get("de", {}).get("id", ""), *[part for field in fields.items() for part in field]),
        )
        return Failed(reply) if isinstance(reply, int) else reply[0]

    def remove_scheduler(self, id: str) -> Any:
        return bool(self._run("manage/remove_job_scheduler", id, ""))

    # workers
    def fetch(self, token: str, **worker: Any) -> Any:
        ids = self.fetch_many(1, token, **worker)
        return ids[0] if ids else None

    def fetch_many(self, count: int, token: str, **worker: Any) -> Any:
        reply = self._run("fetch/move_to_active", self._now, token, *_fetch_options(worker), count, count, "", False)
        return self._taken(reply[3:], worker)

    def _taken(self, packed: list[str], worker: dict[str, Any]) -> list[str]:
        """Do what a worker does with the jobs just fetched (one MessagePack string); return the ids."""
        pairs = msgpack.unpackb(packed[0].encode(errors="surrogateescape")) if packed and packed[0] else []
        stamps = 3 if worker.get("name") else 2
        for id, job in zip(pairs[::2], pairs[1::2], strict=True):
            named = dict(zip(job[0][::2], job[0][1::2], strict=True)) if len(job) == 1 else {}
            self._plain_fields[id] = len(job) + stamps if len(job) > 1 else ""
            if "rjk" in named:
                self._produce_next(id, named)
        return pairs[::2]

    def _produce_next(self, id: str, job: dict[str, str]) -> None:
        opts, scheduler = json.loads(job["opts"]), job["rjk"]
        following = next_iteration_options(opts, scheduler, self._now)
        if following is None:
            return
        firing: int | str | None = ""
        if "pattern" in opts["repeat"]:
            firing = self._cron(max(self._now, opts.get("prevMillis", 0)), opts["repeat"])
            if firing is None:
                return
        every, place = opts["repeat"].get("every", ""), (opts.get("priority", 0), opts.get("lifo", False))
        self._run(
            "add/add_scheduler_iteration",
            *(self._now, scheduler, id, firing, every, job["name"], job["data"], to_json(following), *place),
            opts.get("de", {}).get("id", ""),
        )

    def complete(self, id: str, value: Any, token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return self._finish_one("completed", id, [to_json(value)], token, fetch_next, worker)

    def complete_many(self, values: dict[str, Any], token: str, fetch_next: bool = False, **worker: Any) -> Any:
        rows = {id: [to_json(value)] for id, value in values.items()}
        return self._finish("completed", rows, token, len(rows) if fetch_next else 0, worker)

    def fail(
        self,
        id: str,
        message: str,
        token: str,
        *,
        unrecoverable: bool = False,
        fetch_next: bool = False,
        **worker: Any,
    ) -> Any:
        job = self._hash(id)
        opts = json.loads(job.get("opts", "{}"))
        stack = stack_after(job.get("stacktrace"), opts, message)
        delay = retry_delay(opts, int(job.get("atm", 0)), unrecoverable)
        if delay is None:
            row = [message, stack, opts.get("attempts", 0)]
            return self._finish_one("failed", id, row, token, fetch_next, worker)
        if delay:
            return self._checked("finish/move_to_delayed", self._now, id, token, delay, False, message, stack)
        return self._checked("finish/retry_job", self._now, id, token, opts.get("lifo", False), message, stack)

    def fail_many(self, reasons: dict[str, str], token: str, **worker: Any) -> Any:
        rows = {}
        for id, reason in reasons.items():
            job = self._hash(id)
            opts = json.loads(job.get("opts", "{}"))
            rows[id] = [reason, stack_after(job.get("stacktrace"), opts, reason), opts.get("attempts", 0)]
        return self._finish("failed", rows, token, 0, worker)

    def _finish_one(
        self, target: str, id: str, row: list[Any], token: str, fetch_next: bool, worker: dict[str, Any]
    ) -> Any:
        batch = self._finish(target, {id: row}, token, int(fetch_next), worker)
        if batch.refused:
            return Failed(batch.refused[id])
        return batch.fetched[0] if batch.fetched else None

    def _finish(self, target: str, rows: dict[str, list[Any]], token: str, fetch: int, worker: dict[str, Any]) -> Batch:
        option = "removeOnComplete" if target == "completed" else "removeOnFail"
        opts = {id: json.loads(self._hash(id).get("opts", "{}")) for id in rows}
        args: list[Any] = []

        def head(id: str) -> tuple[Any, ...]:
            return *keep_rule(opts[id].get(option), worker.get(option)), "", self._plain_fields.get(id, "")

        for keep, run in groupby(rows, key=head):
            ids = list(run)
            values = {rows[id][0] for id in ids}
            shared = values.pop() if target == "completed" and len(values) == 1 else ""
            args += [len(ids), target, token, *keep, shared]
            for id in ids:
                args += [id] if shared else [id, *rows[id]]
        points = worker.get("metrics", {}).get("maxDataPoints", 0)
        duration, *limits = _fetch_options(worker)
        rules = (fetch, "", False, "")
        failures, _, _, _, *fetched = self._run(
            "finish/move_to_finished", self._now, points, fetch, token, duration, *limits, *rules, *args
        )
        ids = list(rows)
        refused = {ids[index]: code for index, code in zip(failures[::2], failures[1::2], strict=True)}
        return Batch(refused, self._taken(fetched, worker))

    def move_to_delayed(self, id: str, delay: int, token: str) -> Any:
        return self._checked("finish/move_to_delayed", self._now, id, token, delay, True, "", "")

    def move_to_wait(self, id: str, token: str) -> Any:
        reply = self._run("finish/move_to_wait", id, token)
        return Failed(reply) if reply < 0 else coarse_ttl(reply)

    def move_to_waiting_children(self, id: str, token: str, child: dict[str, str] | None = None) -> Any:
        child_key = f"{child['queue']}:{child['id']}" if child else None
        reply = self._run("finish/move_to_waiting_children", self._now, id, token, child_key)
        return Failed(reply) if reply < 0 else reply == 0

    def extend_locks(self, duration: int, held: dict[str, str]) -> Any:
        return self._run("lock/extend_locks", duration, *[part for pair in held.items() for part in pair])

    def stalled(self, **worker: Any) -> Any:
        return self._stalled_call(1000, False, worker)[1:]

    def stalled_in_parts(self, limit: int, **worker: Any) -> Any:
        more, *ids = self._stalled_call(limit, False, worker)
        while more:
            more, *further = self._stalled_call(limit, True, worker)
            ids += further
        return sorted(ids)

    def _stalled_call(self, limit: int, continued: bool, worker: dict[str, Any]) -> Any:
        limits = worker.get("maxStalledCount", 1), worker.get("stalledInterval", 30_000)
        return self._run("lock/move_stalled_jobs_to_wait", self._now, *limits, limit, continued)


def _fetch_options(worker: dict[str, Any]) -> tuple[Any, ...]:
    limiter = worker.get("limiter", {})
    duration = worker.get("lockDuration", 30_000)
    return duration, limiter.get("max", ""), limiter.get("duration", ""), worker.get("name", "")


def _consecutive(first: int, count: int) -> list[str]:
    return [str(id) for id in range(first, first + count)]
