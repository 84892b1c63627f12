"""``bullrush flow``: a job and its children as a tree."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache

from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.terminal.options import add_queue, count, known_queue, open_queue, url_of
from bullrush.cli.terminal.output import write, write_json
from bullrush.cli.terminal.visible import visible
from bullrush.extending import JSON
from bullrush.flow import FlowProducer, JobNode
from bullrush.job import Job
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush flow video 17
  bullrush flow video 17 --depth 2 --children 100"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the id of the root, or of any job in a flow")
    parser.add_argument("--depth", type=count, default=10, metavar="N", help="at most N levels (default: 10)")
    parser.add_argument(
        "--children", type=count, default=20, metavar="N", help="at most N children of each state per job (default: 20)"
    )


def run(options: argparse.Namespace) -> int:
    """Print the tree. JSON: ``{"id", "name", "queue", "state", "children": [...]}``."""
    known_queue(options)
    with FlowProducer(url=url_of(options), prefix=options.prefix, timeout=options.timeout) as flows:
        root = flows.get_flow(
            id=options.job, queue_name=options.queue, depth=options.depth, max_children=options.children
        )
    if root is None:
        raise CommandError(f"the queue {options.queue!r} has no job {options.job!r}")
    state_of = StateReader(options)
    if options.json:
        write_json(_as_json(root, state_of))
    else:
        for line in _lines(root, state_of, "", ""):
            write(line)
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


def _as_json(node: JobNode[Job], state_of: StateReader) -> dict[str, JSON]:
    job = node.job
    return {
        "id": job.id,
        "name": job.name,
        "queue": job.queue_name,
        "state": state_of(job),
        "children": [_as_json(child, state_of) for child in node.children],
    }


def _lines(node: JobNode[Job], state_of: StateReader, first: str, further: str) -> Iterator[str]:
    job = node.job
    yield f"{first}{visible(job.name, line=True)}  {job.queue_name}:{visible(job.id, line=True)}  {state_of(job)}"
    for number, child in enumerate(node.children, 1):
        last = number == len(node.children)
        yield from _lines(
            child, state_of, further + ("└── " if last else "├── "), further + ("    " if last else "│   ")
        )
