"""The programs on the page for teams with Node, as they are printed: each side runs what the other adds."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from tests.interop.peers import Peer

PAGE = (Path(__file__).parents[3] / "docs" / "node.md").read_text()
PYTHON_ADDS, PYTHON_RUNS = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NODE_RUNS, NODE_ADDS = re.findall(r"^```js\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.node


@pytest.fixture
def url() -> Iterator[str]:
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


def start_node(program: str, url: str, peer: Peer) -> subprocess.Popen[str]:
    """Start a program of the page with the port of the test's server; it ends with `kill`."""
    port = urlsplit(url).port
    assert "port: 6379" in program and "('bullmq')" in program
    program = program.replace("'bullmq'", f"'{peer.library}'").replace("6379", str(port))
    program = f"(async () => {{ {program} }})();"
    return subprocess.Popen(["node", "-e", program], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True)


def python(program: str, url: str) -> str:
    """Run a program of the page and return what it prints."""
    environment = {**os.environ, "BULLRUSH_URL": url}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_node_worker_runs_what_python_adds(url, peer):
    worker = start_node(NODE_RUNS, url, peer)
    try:
        assert python(PYTHON_ADDS, url) == "{'frames': 700}\n"
    finally:
        worker.kill()
        worker.communicate()


def test_a_task_runs_what_node_adds(url, peer):
    producer = start_node(NODE_ADDS, url, peer)
    work = "\nfrom bullrush import Worker\nwith Worker(tasks) as worker:\n    print(worker.run(max_jobs=1).completed)\n"
    try:
        assert python(PYTHON_RUNS + work, url) == "1\n"
    finally:
        producer.kill()
        producer.communicate()
    with Queue("mail", url=url) as queue:
        (done,) = queue.get_completed()
        assert (done.returnvalue, done.opts["attempts"]) == ("welcome 7 in de", 5)
