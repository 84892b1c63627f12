"""``bullrush worker app:mail app:video -Q mail:4 -Q video``: registries of several queues share a worker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bullrush import Queue

from .conftest import Start

APP = """
import asyncio, contextlib, os
from bullrush import Depends, Tasks, current_job

def open_registry(name):
    @contextlib.contextmanager
    def block():
        print(f"open {name} in {os.getpid()}", flush=True)
        yield
        print(f"closed {name}", flush=True)
    return block

@contextlib.contextmanager
def shared():
    yield os.getpid()

mail = Tasks(MAIL, lifespan=open_registry("mail"))
video = Tasks(VIDEO, lifespan=open_registry("video"))

@mail.task
def send(number: int) -> str:
    return f"sent from {current_job().queue_name}"

@video.task
async def encode(number: int, *, pid: int = Depends(shared, scope="worker")) -> str:
    return f"encoded by {pid}"

@video.task(timeout=50)
async def hang(number: int) -> None:
    await asyncio.sleep(60)

@video.cron("0 9 1 1 *", tz="UTC")
def clean() -> None:
    pass

same_name = Tasks(f"{VIDEO}-same")

@same_name.task(name="send")
def send_again(number: int) -> None:
    pass

other_options = Tasks(f"{VIDEO}-options", worker_options={"lock_duration": 60_000})

@other_options.task
def tag(number: int) -> None:
    pass

same_queue = Tasks(MAIL)

@same_queue.task
def post(number: int) -> None:
    pass
"""


@pytest.fixture
def video(queue: Queue, redis_url: str, folder: Path) -> Queue:
    name = f"{queue.name}~video"
    (folder / "app.py").write_text(APP.replace("MAIL", repr(queue.name)).replace("VIDEO", repr(name)))
    return Queue(name, url=redis_url)


def test_registries_share_slots_by_the_weights_of_their_queues(start: Start, queue: Queue, video: Queue) -> None:
    queue.add_bulk([{"name": "send", "data": {"number": n}} for n in range(30)])
    video.add_bulk([{"name": "encode", "data": {"number": n}} for n in range(30)])
    targets = ("app:mail", "app:video", "-Q", f"{queue.name}:4", "-Q", video.name, "-c", "1", "--burst")
    command = start(*targets, "--check")
    assert command.ends() == 0 and command.output.count("ready, concurrency 1") == 1, command.output
    command = start(*targets)
    assert command.ends() == 0, command.output
    finished = [job for each in (queue, video) for job in each.get_completed(0, -1)]
    order = [job.queue_name for job in sorted(finished, key=lambda job: (job.processed_on, job.finished_on))]
    assert abs(order[:20].count(queue.name) - 16) <= 1 and len(order) == 60
    (pid,) = set(re.findall(r"open \w+ in (\d+)", command.output))
    assert {job.returnvalue for job in finished} == {f"sent from {queue.name}", f"encoded by {pid}"}
    assert command.output.index("open mail") < command.output.index("open video")
    assert command.output.index("closed video") < command.output.index("closed mail")


def test_each_registry_of_a_pool_keeps_what_its_tasks_say(start: Start, queue: Queue, video: Queue) -> None:
    job = video.add("hang", {"number": 1})
    command = start("app:mail", "app:video", "-Q", queue.name, "-Q", f"{video.name}=1:2", "--burst")
    assert command.ends() == 0, command.output
    assert video.get_job(job.id).failed_reason == "timed out after 50 ms"
    assert [scheduler["key"] for scheduler in video.get_job_schedulers()] == ["clean"]
    assert queue.get_job_schedulers() == []


@pytest.mark.parametrize(
    ("other", "suffix", "words", "printed"),
    [
        ("same_name", "-same", [], "app:same_name has a task 'send', as another registry of this worker has"),
        ("other_options", "-options", [], "differ in their worker_options: give both the same, or leave out the"),
        ("video", "", ["--profile", "{}"], "leave out the weights of -Q"),
    ],
)
def test_what_registries_of_one_worker_cannot_have_is_refused(
    start: Start, queue: Queue, video: Queue, other: str, suffix: str, words: list[str], printed: str
) -> None:
    command = start("app:mail", f"app:{other}", "-Q", f"{queue.name}:4", "-Q", f"{video.name}{suffix}", *words)
    assert command.ends() == 2, command.output
    assert printed in command.output


def test_registries_of_one_queue_are_refused_and_without_weights_each_keeps_its_own_worker(
    start: Start, queue: Queue, video: Queue
) -> None:
    command = start("app:mail", "app:same_queue", "-Q", f"{queue.name}:4")
    assert command.ends() == 2 and "let one include() the other" in command.output, command.output
    command = start("app:mail", "app:video", "-Q", f"{queue.name}=8", "-Q", video.name, "--check")
    assert command.ends() == 0, command.output
    assert "concurrency 8" in command.output and command.output.count("ready") == 2
