"""``bullrush flow``: a job and its children as a tree."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Final, TypedDict

from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.terminal.options import add_queue, count, known_queue, open_queue, url_of
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.cli.terminal.visible import visible
from bullrush.flow import FlowProducer, JobNode
from bullrush.job import Job
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush flow video 17
  bullrush flow video 17 --depth 2 --children 100"""


#: So many jobs that have failed are named below the tree.
_SHOWN_FAILED: Final = 10


class _Node(TypedDict):
    id: str
    name: str
    queue: str
    state: str
    children: list[_Node]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the id of the root, or of any job in a flow")
    parser.add_argument("--depth", type=count, default=10, metavar="N", help="at most N levels (default: 10)")
    parser.add_argument(
        "--children", type=count, default=20, metavar="N", help="at most N children of each state per job (default: 20)"
    )


def run(options: argparse.Namespace) -> int:
    """Print the tree. JSON: ``{"id", "name", "queue", "state", "children": [...]}``, failed children first."""
    known_queue(options)
    with FlowProducer(url=url_of(options), prefix=options.prefix, timeout=options.timeout) as flows:
        root = flows.get_flow(
            id=options.job, queue_name=options.queue, depth=options.depth, max_children=options.children
        )
    if root is None:
        raise CommandError(f"the queue {options.queue!r} has no job {options.job!r}")
    tree = _read(root, StateReader(options))
    if options.json:
        write_json(tree)
        return 0
    for line in _lines(tree, "", ""):
        write(line)
    if failed := list(_failed(tree)):
        _say_failed(failed)
    return 0


class StateReader:
    """Reads the states of jobs, with one handle per queue."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._queue = cache(self._open)

    def _open(self, prefix: str, name: str) -> Queue:
        return open_queue(argparse.Namespace(**{**vars(self._options), "prefix": prefix}), name)

    def __call__(self, job: Job) -> str:
        """Return the state of a job."""
        return self._queue(job.prefix, job.queue_name).get_job_state(job.id)


def _read(node: JobNode[Job], state_of: StateReader) -> _Node:
    """Return a job and what is below it, the children that have failed first: people look for these."""
    job = node.job
    children = [_read(child, state_of) for child in node.children]
    children.sort(key=lambda child: child["state"] != "failed")
    return {"id": job.id, "name": job.name, "queue": job.queue_name, "state": state_of(job), "children": children}


def _failed(node: _Node) -> Iterator[_Node]:
    if node["state"] == "failed":
        yield node
    for child in node["children"]:
        yield from _failed(child)


def _say_failed(failed: list[_Node]) -> None:
    """Say which jobs of the tree have failed, and how one of them runs again."""
    shown = ", ".join(f"{one['queue']}:{one['id']}" for one in failed[:_SHOWN_FAILED])
    more = ", ..." if len(failed) > _SHOWN_FAILED else ""
    words = ["bullrush", "jobs", "retry", failed[0]["queue"], failed[0]["id"]]
    # A name of a job must not look like two lines.
    say(visible(f"{len(failed):,} failed: {shown}{more}. One again: {shlex.join(words)}", line=True))


def _lines(node: _Node, first: str, further: str) -> Iterator[str]:
    name, job_id = visible(node["name"], line=True), visible(node["id"], line=True)
    yield f"{first}{name}  {node['queue']}:{job_id}  {node['state']}"
    for number, child in enumerate(node["children"], 1):
        last = number == len(node["children"])
        yield from _lines(child, further + ("└── " if last else "├── "), further + ("    " if last else "│   "))
