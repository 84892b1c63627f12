"""Runs scripts as a user who may not use one command, and again when it may: each job is always in exactly one place.

A `Scenario` is a state of a queue and some script calls. It runs once to find the commands it uses and the keys it
leaves, and then once per command with that command denied: calls that fail are made again when the command is allowed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

NOW = 1795225366409
LISTS = ("wait", "paused", "active")
SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children")
OUTCOMES = ("completed", "failed", "retries-exhausted")
# Not compared: counters, which only have to grow, and events, which may be doubled or missing.
# Events about outcomes are checked separately.
LOOSE = ("id", "pc", "events")
NOT_OF_SCRIPTS = {"evalsha", "script", "config", "info", "client", "hello", "auth"}

Call = tuple[Any, ...]


@dataclass
class Scenario:
    prepare: Callable[[str], None]
    calls: Callable[[str], list[Call]]
    before_repeat: Callable[[str], Any] = lambda queue: None
    # Ids of which only the final place is compared: a worker whose call fails reads the state of its jobs.
    placed: tuple[str, ...] = ()


def ids_in(left: dict[str, Any], place: str) -> set[str]:
    return {member if isinstance(member, str) else member[0] for member in left.get(place, [])}


@dataclass
class ScenarioRunner:
    """Runs scenarios; `run` and `limited` run scripts as the administrator and as the user who is denied a command."""

    client: redis.Redis
    run: Callable[..., Any]
    limited: Callable[..., Any]
    new_queue: Callable[[], str]
    dump: Callable[[str], dict[str, Any]]

    def allow_all(self) -> None:
        self.client.execute_command("ACL", "SETUSER", "limited", "reset", "on", ">limited", "~*", "&*", "+@all")

    def deny(self, command: str) -> None:
        self.client.execute_command("ACL", "SETUSER", "limited", f"-{command}")

    def attempt(self, queue: str, call: Call) -> Any:
        script, *args = call
        try:
            return self.limited(script, queue, *args)
        except redis.RedisError as error:
            return error

    def places(self, queue: str) -> dict[str, list[str]]:
        """Return the lists and sets that have each job; also for a job with a hash that is in none."""
        base = f"bull:{queue}:"
        found: dict[str, list[str]] = {}
        for key in self.client.scan_iter(f"{base}*", count=1000, _type="hash"):
            if self.client.hexists(key, "timestamp"):
                found[key.removeprefix(base)] = []
        for name in LISTS:
            for job_id in self.client.lrange(base + name, 0, -1):
                found.setdefault(job_id, []).append(name)
        for name in SETS:
            for job_id in self.client.zrange(base + name, 0, -1):
                found.setdefault(job_id, []).append(name)
        return found

    def left(self, queue: str) -> dict[str, Any]:
        """Return the keys that are compared: all except LOOSE; jobs with equal scores are in the order of the calls."""
        keys = {name: value for name, value in self.dump(queue).items() if name not in LOOSE}
        for name in LISTS:
            keys[name] = sorted(keys.get(name, []))
        keys["delayed"] = [(job_id, int(score) >> 12) for job_id, score in keys.get("delayed", [])]
        keys["marker"] = [(member, int(score)) for member, score in keys.get("marker", [])]
        keys["prioritized"] = sorted((job_id, int(score) >> 32) for job_id, score in keys.get("prioritized", []))
        return keys

    def commands_of(self, scenario: Scenario) -> tuple[list[str], list[Any], dict[str, Any]]:
        """Run the scenario with all commands; return the commands it uses, its replies and the keys it leaves."""
        queue = self.new_queue()
        self.allow_all()
        scenario.prepare(queue)
        calls = scenario.calls(queue)
        self.client.config_resetstat()
        replies = [self.attempt(queue, call) for call in calls]
        used = {name.removeprefix("cmdstat_") for name in self.client.info("commandstats")}
        used = {name for name in used if name.split("|")[0] not in NOT_OF_SCRIPTS}
        assert not [reply for reply in replies if isinstance(reply, Exception)], replies
        return sorted(used), replies, self.named(self.left(queue), queue)

    def named(self, value: Any, queue: str) -> Any:
        """Return `value` with the queue's name replaced, so that two queues compare."""
        if isinstance(value, str):
            return value.replace(queue, "QUEUE")
        if isinstance(value, dict):
            return {self.named(key, queue): self.named(part, queue) for key, part in value.items()}
        if isinstance(value, (list, tuple, set)):
            return type(value)(self.named(part, queue) for part in value)
        return value

    def faults(self, scenario: Scenario, only: str | None = None) -> dict[str, str]:
        """Run the scenario once per command with that command denied; return what went wrong, by command."""
        used, replies, left = self.commands_of(scenario)
        wrong = {}
        for command in [only] if only else used:
            fault = self.fault(scenario, command, replies, left)
            if fault:
                wrong[command] = fault
        return wrong

    def fault(self, scenario: Scenario, command: str, replies: list[Any], left: dict[str, Any]) -> str | None:
        queue = self.new_queue()
        self.allow_all()
        scenario.prepare(queue)
        calls = scenario.calls(queue)
        before = set(self.places(queue))
        self.deny(command)
        results = [self.attempt(queue, call) for call in calls]
        failed = [at for at, result in enumerate(results) if isinstance(result, Exception)]
        torn = {job_id: where for job_id, where in self.places(queue).items() if len(where) != 1}
        missing = before - set(self.places(queue)) if failed else set()
        if torn or missing:
            return f"after the failure: {torn or missing} ({results})"
        self.allow_all()
        if failed:
            scenario.before_repeat(queue)
        for at in failed:
            results[at] = self.attempt(queue, calls[at])
        torn = {job_id: where for job_id, where in self.places(queue).items() if len(where) != 1}
        if torn:
            return f"after the repetition: {torn}"
        outcomes = Counter(
            (event["jobId"], event["event"])
            for _, event in self.client.xrange(f"bull:{queue}:events")
            if event["event"] in OUTCOMES
        )
        if outcomes and max(outcomes.values()) > 1:
            return f"announced twice: {outcomes}"
        if scenario.placed:
            places = self.places(queue)
            wrong = {
                job_id: places[job_id] for job_id in scenario.placed if job_id not in ids_in(left, places[job_id][0])
            }
            return f"in the end: {wrong}" if wrong else None
        if self.named(results, queue) != self.named(replies, queue):
            return f"replies {results} instead of {replies}"
        now_left = self.named(self.left(queue), queue)
        if now_left != left:
            keys = [key for key in {*left, *now_left} if left.get(key) != now_left.get(key)]
            return f"left {[(key, now_left.get(key), left.get(key)) for key in keys]}"
        return None
