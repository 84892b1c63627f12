"""The page about boards, typed into an empty folder as it is written: what it installs shows a queue of ours."""

import json
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bullrush import Queue
from tests.servers.ports import free_port
from tests.waiting import wait_until

PAGE = (Path(__file__).parents[2] / "docs/boards.md").read_text()


def test_what_the_page_installs_shows_a_queue_of_ours(tmp_path: Path, redis_url: str, queue_name: str) -> None:
    Queue(queue_name, url=redis_url).add("hello", {"to": "ada"})
    (install,) = re.findall(r"^npm install .*$", PAGE, re.MULTILINE)
    (board,) = re.findall(r"^```js\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    port = free_port()
    for written, ours in (("'mail'", repr(queue_name)), ("6379", urlsplit(redis_url).port), ("3000", port)):
        assert board.count(written) == 1
        board = board.replace(written, str(ours))
    (tmp_path / "board.js").write_text(board)
    subprocess.run([*shlex.split(install), "--no-audit", "--no-fund"], cwd=tmp_path, check=True, capture_output=True)
    with subprocess.Popen(["node", "board.js"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as node:
        try:
            shown = wait_until(lambda: node.poll() is None and queues(port, queue_name))
        finally:
            node.kill()
            print(node.stderr and node.stderr.read())
    (mail,) = (queue for queue in shown if queue["name"] == queue_name)
    assert mail["counts"]["waiting"] == 1 and mail["jobs"][0]["data"] == {"to": "ada"}


def queues(port: int, active: str) -> Any:
    """Return the queues that a board shows, with the jobs of one; None while it starts."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/queues?activeQueue={active}", timeout=20) as reply:
            return json.load(reply)["queues"]
    except (urllib.error.URLError, ConnectionError):
        return None
