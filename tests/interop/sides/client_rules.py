"""What a BullMQ client decides before it calls a script, as far as the script comparison needs it.

bullrush's own rules are in its core; the sequences that use the public API compare them with BullMQ.
"""

import json
import math
from typing import Any

SHORT_NAMES = {
    "debounce": "de",
    "deduplication": "de",
    "keepLogs": "kl",
    "failParentOnFailure": "fpof",
    "continueParentOnFailure": "cpof",
    "ignoreDependencyOnFailure": "idof",
    "removeDependencyOnFailure": "rdof",
}

#: The repeat options that a scheduler's hash keeps.
SCHEDULER_FIELDS = ("tz", "limit", "pattern", "startDate", "endDate", "every")


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def stored_options(opts: dict[str, Any]) -> dict[str, Any]:
    """Return the job options as BullMQ stores them: short names, ``attempts``, ``backoff`` as an object."""
    stored = {"attempts": 0, **{SHORT_NAMES.get(name, name): value for name, value in opts.items()}}
    if isinstance(stored.get("backoff"), int):
        stored["backoff"] = {"type": "fixed", "delay": stored["backoff"]}
    return stored


def keep_rule(job_rule: Any, worker_rule: Any) -> tuple[int, int | str]:
    """Return ``(count, age)``; count -1 keeps all, age ``""`` means no age."""
    rule = worker_rule if job_rule is None else job_rule
    if isinstance(rule, dict):
        return rule.get("count", -1), rule.get("age", "")
    if isinstance(rule, bool):
        return (0 if rule else -1), ""
    return (-1 if rule is None else rule), ""


def retry_delay(opts: dict[str, Any], attempts_made: int, unrecoverable: bool) -> int | None:
    """Return the delay before the next attempt in ms, or None when the job has failed for good."""
    if unrecoverable or attempts_made + 1 >= opts.get("attempts", 0):
        return None
    backoff = opts.get("backoff")
    if not backoff:
        return 0
    if isinstance(backoff, int):
        return backoff
    if backoff["type"] == "exponential":
        return math.floor(2**attempts_made * backoff["delay"] + 0.5)
    delay: int = backoff["delay"]
    return delay


def stack_after(stored: str | None, opts: dict[str, Any], message: str) -> str:
    """Return the job's ``stacktrace`` with this failure appended and the limit applied."""
    stack = [*json.loads(stored or "[]"), f"Error: {message}\n    at handler (worker.js:1:1)"]
    limit = opts.get("stackTraceLimit")
    if limit is not None:
        stack = stack[-limit:] if limit else []
    return to_json(stack)


def next_iteration_options(opts: dict[str, Any], scheduler_id: str, now: int) -> dict[str, Any] | None:
    """Return the options of a scheduler's next job, made from those of the fetched job.

    None when the scheduler has ended.
    """
    repeat = {**opts["repeat"], "count": opts["repeat"].get("count", 0) + 1}
    if repeat["count"] > repeat.get("limit", math.inf) or now > repeat.get("endDate", math.inf):
        return None
    kept = {name: value for name, value in opts.items() if name not in ("jobId", "delay", "prevMillis")}
    if isinstance(kept.get("backoff"), int):
        kept["backoff"] = {"type": "fixed", "delay": kept["backoff"]}
    return {"attempts": 0, **kept, "repeat": repeat, "repeatJobKey": scheduler_id, "timestamp": now}


def first_iteration(repeat: dict[str, Any], now: int) -> tuple[int | None, dict[str, Any]]:
    """Return which iteration a scheduler starts with, None when it is over, and the repeat options of its jobs."""
    kept = {name: value for name, value in repeat.items() if name not in ("immediately", "count", "offset")}
    count = repeat.get("count", 0) + 1
    return (None if count > repeat.get("limit", math.inf) else count), kept
