"""Signals: a run handles them only if the program does not, and one signal closes all workers."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bullrush import Job, Queue, Worker, aio
from tests.waiting import wait_until

Start = Callable[..., subprocess.Popen[str]]

TWO_ON_A_LOOP = """
import asyncio, sys
from bullrush import aio

async def handler(job):
    print("started", flush=True)
    await asyncio.sleep(0.2)

async def main():
    url, name = sys.argv[1:]
    await asyncio.gather(*(aio.Worker(name, handler, url=url).run() for _ in range(2)))
    print("both ended")

asyncio.run(main())
"""

ONE_IN_THE_BACKGROUND = """
import sys, time
from bullrush import Worker

def handler(job):
    print("started\\n", end="", flush=True)  # one write, so that lines of two threads never mix
    time.sleep(0.2)

url, name = sys.argv[1:]
background = []
worker = Worker(name, handler, url=url)
# Not before the worker handles the signals.
worker.on("ready", lambda: background.append(Worker(name, handler, url=url, autorun=True)))
worker.run()
while background[0].is_running():
    time.sleep(0.01)
print("both ended")
"""

FORKING = """
import os, sys, time
from bullrush import Worker

def handler(job):
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        os.write(tell, b".")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    os.kill(child, 15)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

url, name = sys.argv[1:]
print("child ended by", Worker(name, handler, url=url).run(until="drained").completed, "job")
"""

WEB = """
from contextlib import asynccontextmanager
import os
from bullrush import aio

async def handler(job):
    return "worked"

@asynccontextmanager
async def life():
    async with aio.Worker(os.environ["QUEUE"], handler, url=os.environ["URL"], autorun=True):
        print("life begins", flush=True)
        yield
    print("life ends", flush=True)

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        async with life():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python programs; those that still run are killed after the test."""
    programs = []

    def run(*arguments: object, **options: object) -> subprocess.Popen[str]:
        command = [sys.executable, *map(str, arguments)]
        own = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True, **options}
        programs.append(subprocess.Popen(command, **own))  # type: ignore[call-overload]
        return programs[-1]

    yield run
    for program in programs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # its child processes keep its output open
        program.communicate()


def line(program: subprocess.Popen[str], expected: str) -> None:
    """Read the output of a program until this line."""
    assert program.stdout is not None
    for text in program.stdout:
        if text.strip() == expected:
            return
    pytest.fail(f"it ended without saying {expected!r}")


@pytest.mark.parametrize("program", [TWO_ON_A_LOOP, ONE_IN_THE_BACKGROUND], ids=["two_on_a_loop", "autorun"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_closes_every_worker_of_the_process(
    queue: Queue, redis_url: str, start: Start, program: str, number: int
) -> None:
    jobs = queue.add_bulk([{"name": "n"}] * 2)
    running = start("-c", program, redis_url, queue.name)
    for _ in jobs:
        line(running, "started")
    running.send_signal(number)
    line(running, "both ended")
    assert running.wait(20) == 0
    assert [job.get_state() for job in jobs] == ["completed"] * 2


@pytest.fixture
def web(start: Start, tmp_path: Path, redis_url: str, queue_name: str) -> Callable[..., subprocess.Popen[str]]:
    """Start a web server whose lifespan has a worker."""
    pytest.importorskip("uvicorn")
    (tmp_path / "web.py").write_text(WEB)
    environment = {**os.environ, "URL": redis_url, "QUEUE": queue_name}
    arguments = ("-m", "uvicorn", "web:app", "--port", "0", "--log-level", "warning")
    return lambda *more: start(*arguments, *more, cwd=tmp_path, env=environment)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_web_server_with_a_worker_in_its_lifespan_ends_on_one_signal(
    queue: Queue, web: Callable, number: int
) -> None:
    server = web()
    line(server, "life begins")
    assert queue.add("n").wait_until_finished(timeout=20_000) == "worked"
    server.send_signal(number)
    line(server, "life ends")
    server.wait(20)


def test_a_web_server_with_a_worker_in_its_lifespan_reloads(queue: Queue, web: Callable, tmp_path: Path) -> None:
    server = web("--reload")
    line(server, "life begins")
    reloaded = threading.Event()

    def change() -> None:
        # The server compares modification times; when it starts to do so is not known.
        (tmp_path / "web.py").write_text(WEB.replace('"worked"', '"worked anew"'))
        while not reloaded.wait(0.1):
            os.utime(tmp_path / "web.py")

    changing = threading.Thread(target=change)
    changing.start()
    line(server, "life ends")
    reloaded.set()
    changing.join()
    line(server, "life begins")
    assert queue.add("n").wait_until_finished(timeout=20_000) == "worked anew"
    server.terminate()
    line(server, "life ends")
    server.wait(20)


@contextlib.contextmanager
def handled(handler: Callable[..., None]) -> Iterator[None]:
    """Handle SIGTERM as a program with a worker does."""
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def terminate(_job: object = None) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_run_on_a_loop_leaves_the_programs_signals_alone(queue: Queue, redis_url: str) -> None:
    async def handler(_job: aio.Job) -> None:
        terminate()
        await received.wait()

    async def main() -> None:
        assert (await aio.Worker(queue.name, handler, url=redis_url).run(max_jobs=2)).completed == 2

    received = asyncio.Event()
    queue.add_bulk([{"name": "n"}] * 2)
    with handled(lambda *_: received.set()):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert received.is_set()


def test_a_run_without_signals_leaves_them_alone(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handler(_job: Job) -> None:
        terminate()
        assert received.wait(10)

    received = threading.Event()
    queue.add_bulk([{"name": "n"}] * 2)
    with handled(lambda *_: received.set()):
        assert worker(handler).run(max_jobs=2, signals=False).completed == 2


def test_a_run_in_the_main_thread_takes_signals_and_returns_them(queue: Queue, worker: Callable[..., Worker]) -> None:
    def own(*_: object) -> None:
        pytest.fail("the worker runs")

    job = queue.add("n")
    with handled(own):
        assert worker(terminate).run().completed == 1
        assert signal.getsignal(signal.SIGTERM) is own
    assert job.get_state() == "completed"


def test_a_handler_that_was_set_during_a_run_stays(queue: Queue, worker: Callable[..., Worker]) -> None:
    def own(*_: object) -> None: ...

    queue.add("n")
    with handled(signal.SIG_IGN):  # type: ignore[arg-type]
        listening = worker(lambda job: None)
        listening.on("completed", lambda *_: signal.signal(signal.SIGTERM, own))
        listening.run(until="drained")
        assert signal.getsignal(signal.SIGTERM) is own


def test_a_process_forked_by_a_handler_can_be_terminated(queue: Queue, redis_url: str, start: Start) -> None:
    job = queue.add("n")
    line(start("-W", "ignore", "-c", FORKING, redis_url, queue.name), "child ended by 1 job")
    assert job.wait_until_finished() == -signal.SIGTERM


def test_ctrl_c_ends_a_run_that_leaves_signals_alone_and_a_second_one_ends_it_now(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    def handler(_job: Job) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(lambda: running._run is not None and running._run.closing)
        os.kill(os.getpid(), signal.SIGINT)
        gate.wait(20)

    gate = threading.Event()
    queue.add("n")
    running = worker(handler)
    with pytest.raises(KeyboardInterrupt):
        running.run(signals=False)
    gate.set()
