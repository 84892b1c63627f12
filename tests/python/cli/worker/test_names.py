"""``bullrush worker --name``: other programs can tell which worker is which."""

from __future__ import annotations

import pytest

from bullrush import Queue
from tests.waiting import wait_until

from .conftest import Start


def connected(queue: Queue) -> set[str]:
    return {worker["rawname"].partition(":w:")[2] for worker in queue.get_workers()}


def test_a_worker_has_the_name_that_it_was_given(start: Start, queue: Queue) -> None:
    job = queue.add("n")
    command = start("jobs:handle", "-Q", queue.name, "--name", "mail-7f9c")
    wait_until(job.is_completed)
    assert connected(queue) == {"mail-7f9c"}
    assert queue.get_job(job.id).processed_by == "mail-7f9c"
    command.terminate()
    assert command.ends() == 0, command.output


def test_each_process_has_its_number_in_its_name(start: Start, queue: Queue) -> None:
    command = start("jobs:tasks", "--name", "mail", "-p", "2")
    wait_until(lambda: connected(queue) == {"mail-1", "mail-2"})
    command.terminate()
    assert command.ends() == 0, command.output


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["jobs:blocking", "--name", "mail"], "give it the name, Worker(..., name=...)"),
        (["jobs:tasks", "--name", "two words"], "'two words' is no name"),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(start: Start, words: list[str], printed: str) -> None:
    command = start(*words)
    assert command.ends() == 2
    assert printed in command.output
