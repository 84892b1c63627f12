"""Adding jobs with parents, children or deduplication by our scripts alone; jobs and flows have the form of BullMQ."""

from collections.abc import Callable
from typing import Any

from .client_rules import stored_options, to_json
from .results import Failed

POLICIES = ("rdof", "fpof", "cpof", "idof")
FLAGS = {"extend": "e", "replace": "r", "keepLastIfActive": "k", "reschedule": "s"}


def is_linked(job: dict[str, Any]) -> bool:
    return not {"parent", "deduplication", "debounce"}.isdisjoint(job.get("opts", {}))


def arguments(base: str, job: dict[str, Any], now: int, *, is_parent: bool = False) -> list[Any]:
    """Return the script arguments of one job; ``base`` is the key prefix of its queue."""
    opts = job.get("opts", {})
    stored = stored_options(opts)
    parent, rule = stored.get("parent"), stored.get("de", {})
    link: tuple[Any, Any] = "", ""
    if parent:
        flags = {name: True for name in POLICIES if stored.get(name)}
        link = f"{parent['queue']}:{parent['id']}", to_json({"id": parent["id"], "queueKey": parent["queue"], **flags})
    id = opts.get("jobId", "")
    return [
        *(1, base, job["name"], to_json({key: value for key, value in stored.items() if key != "jobId"})),
        *(opts.get("timestamp", now), opts.get("delay", 0), opts.get("priority", 0), opts.get("lifo", False)),
        *(1 if id else 0, is_parent, *link),
        *(rule.get("id", ""), rule.get("ttl", 0), "".join(flag for name, flag in FLAGS.items() if rule.get(name))),
        *([id] if id else []),
        to_json(job.get("data")),
    ]


def flow_arguments(
    flows: list[dict[str, Any]], prefix: str, now: int, defaults: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """Return the arguments of trees whose jobs all have an id, generation by generation, and the ids in their shape."""
    args: list[Any] = []
    shapes: list[Any] = []
    level = [(flow, shapes) for flow in flows]
    while level:
        below = []
        for flow, siblings in level:
            queue = f"{flow.get('prefix', prefix)}:{flow['queueName']}"
            opts = {**defaults.get(flow["queueName"], {}).get("defaultJobOptions", {}), **flow.get("opts", {})}
            children = flow.get("children", [])
            job = {"name": flow["name"], "data": flow.get("data", {}), "opts": opts}
            args += arguments(f"{queue}:", job, now, is_parent=bool(children))
            siblings.append((opts["jobId"], []))
            parent = {"parent": {"id": opts["jobId"], "queue": queue}}
            below += [({**child, "opts": {**child["opts"], **parent}}, siblings[-1][1]) for child in children]
        level = below
    return args, shapes


class LinkedJobs:
    """The steps with ``add/add_linked_jobs``, for a side that runs scripts."""

    _base: str
    _client: Any
    _now: int
    _run: Callable[..., Any]

    def add_linked(self, jobs: list[dict[str, Any]]) -> Any:
        return self._linked([value for job in jobs for value in arguments(self._base, job, self._now)])

    def add_flow(self, flow: dict[str, Any], queues_options: dict[str, Any] | None = None) -> Any:
        added = self.add_flows([flow], queues_options)
        return added if isinstance(added, Failed) else added[0]

    def add_flows(self, flows: list[dict[str, Any]], queues_options: dict[str, Any] | None = None) -> Any:
        args, shapes = flow_arguments(flows, self._base.split(":")[0], self._now, queues_options or {})
        added = self._linked(args)
        return added if isinstance(added, Failed) else shapes

    def _linked(self, runs: list[Any]) -> Any:
        ids, *_ = self._run("add/add_linked_jobs", "", *runs)
        return Failed(ids) if isinstance(ids, int) else ids

    def remove_deduplication_key(self, id: str) -> Any:
        return self._client.delete(f"{self._base}de:{id}")

    def deduplication_job_id(self, id: str) -> Any:
        return self._client.get(f"{self._base}de:{id}")
