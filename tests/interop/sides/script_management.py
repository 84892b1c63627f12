"""The steps of a sequence that manage a queue, edit one job or read, done by our Lua scripts alone."""

import json
from collections.abc import Callable
from typing import Any

from .client_rules import to_json
from .results import Failed

WAKE_UP = 9007199254740991


class ScriptManagement:
    """All steps except adding, fetching and finishing, for a side that runs scripts."""

    _base: str
    _client: Any
    _now: int
    _run: Callable[..., Any]
    _hash: Callable[[str], dict[str, str]]

    def _checked(self, script: str, *args: Any) -> Any:
        reply = self._run(script, *args)
        return Failed(reply) if reply < 0 else None

    # management
    def pause(self) -> Any:
        return self._checked("manage/pause")

    def resume(self) -> Any:
        return self._checked("manage/resume")

    def drain(self, delayed: bool = False) -> Any:
        more, *kept = self._run("manage/drain", delayed)
        while more:
            more, *kept = self._run("manage/drain", delayed, *kept)

    def clean(self, grace: int, limit: int, type: str = "completed") -> Any:
        more, kept, removed, ids = 1, 0, 0, []
        while more:
            more, kept, removed, *some = self._run(
                "manage/clean", type, self._now - grace, limit or 10_000, kept, removed
            )
            ids += some
        return ids

    def obliterate(self, force: bool = False, count: int = 1000) -> Any:
        self.pause()
        while (reply := self._run("manage/obliterate", count, force)) == 1:
            pass
        # BullMQ refuses with a text only, without a code.
        return Failed(None) if reply < 0 else None

    def retry_jobs(self, state: str = "failed", count: int = 1000, timestamp: int | None = None) -> Any:
        while self._run("manage/retry_jobs", state, count, timestamp or self._now) == 1:
            pass

    def promote_jobs(self, count: int = 1000) -> Any:
        while self._run("manage/promote_jobs", count) == 1:
            pass

    def promote_many(self, ids: list[str]) -> Any:
        others = self._run("manage/promote_many", len(ids), *ids)
        return [id for at, id in enumerate(ids, 1) if at not in others]

    def remove(self, id: str, remove_children: bool = True) -> Any:
        reply = self._run("manage/remove", id, remove_children)
        return Failed(reply) if reply < 0 else reply

    def rate_limit(self, ms: int) -> Any:
        self._client.set(self._base + "limiter", WAKE_UP, px=ms)

    def set_global_concurrency(self, concurrency: int) -> Any:
        self._client.hset(self._base + "meta", "concurrency", str(concurrency))

    def remove_global_concurrency(self) -> Any:
        self._client.hdel(self._base + "meta", "concurrency")

    def set_global_rate_limit(self, max: int, duration: int) -> Any:
        self._client.hset(self._base + "meta", mapping={"max": max, "duration": duration})

    def remove_global_rate_limit(self) -> Any:
        self._client.hdel(self._base + "meta", "max", "duration")

    # one job
    def promote(self, id: str) -> Any:
        return self._checked("manage/promote", id)

    def change_delay(self, id: str, delay: int) -> Any:
        return self._checked("manage/change_delay", self._now, id, delay)

    def change_priority(self, id: str, priority: int, lifo: bool = False) -> Any:
        return self._checked("manage/change_priority", id, priority, lifo)

    def update_data(self, id: str, data: Any) -> Any:
        return self._checked("manage/update_data", id, to_json(data))

    def update_progress(self, id: str, progress: Any) -> Any:
        return self._checked("manage/update_progress", id, to_json(progress))

    def add_log(self, id: str, row: str, keep: int | None = None) -> Any:
        reply = self._run("manage/add_log", id, row, keep)
        return Failed(reply) if reply < 0 else reply

    def clear_logs(self, id: str, keep: int | None = None) -> Any:
        return self._checked("manage/clear_logs", id, keep)

    def retry(self, id: str, state: str = "failed") -> Any:
        opts = json.loads(self._hash(id).get("opts", "{}"))
        return self._checked("manage/retry", id, state, opts.get("lifo", False))

    def remove_child_dependency(self, id: str) -> Any:
        reply = self._run("manage/remove_child_dependency", id)
        return Failed(reply) if reply < 0 else reply == 1

    def remove_unprocessed_children(self, id: str) -> Any:
        return self._checked("manage/remove_unprocessed_children", id)

    # getters
    def counts(self, *types: str) -> Any:
        asked = list(dict.fromkeys([*types, *(["paused"] if "waiting" in types else [])]))
        return dict(zip(asked, self._run("inspect/get_counts", *asked), strict=True))

    def ranges(self, types: list[str], start: int = 0, end: int = -1, asc: bool = False) -> Any:
        return self._run("inspect/get_ranges", start, end, asc, *types)

    def state(self, id: str) -> Any:
        return self._run("inspect/get_state", id)
