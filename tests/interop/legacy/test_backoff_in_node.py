"""The lines of docs/legacy-bull.md by which a worker of BullMQ for Node keeps the delays of Bull."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from .bull_queue import add, newest_bull

ROOT = Path(__file__).parents[3]
BEFORE = """
const { Worker } = require('bullmq5');
const connection = CONNECTION;
const send = async () => { throw new Error('no'); };
"""
AFTER = "worker.on('failed', () => process.exit()); worker.on('error', console.error);"


@pytest.fixture
def lines() -> str:
    """The block of the page that makes a worker."""
    blocks = re.findall(r"```js\n(.*?)```", (ROOT / "docs/legacy-bull.md").read_text(), re.DOTALL)
    [block] = [block for block in blocks if "backoffStrategy" in block]
    return block


@newest_bull
def test_a_worker_in_node_with_the_lines_of_the_page_waits_as_bull_does(lines, bull, old, new, redis):
    add(bull, old, {}, attempts=4, backoff={"type": "exponential", "delay": 7000})
    old.migrate(new, keep_backoff=True)
    server = redis.connection_pool.connection_kwargs
    connection = json.dumps({"host": server["host"], "port": server["port"], "db": server["db"]})
    worker = lines.replace("'mails'", f"'{new.name}'").replace("'bullmq'", "'bull'")
    program = BEFORE.replace("CONNECTION", connection) + worker + AFTER
    delays = []
    for _ in range(3):
        ended = subprocess.run(["node", "-e", program], cwd=ROOT / "tests/interop", timeout=60, capture_output=True)
        assert ended.returncode == 0, ended.stderr
        delays.append(new.get_job("1").delay)
        new.get_job("1").promote()
    assert delays == [7000, 21_000, 49_000]
