"""The page says how to tell jobs of Bull from those that a producer of BullMQ has added to the same keys."""

import re
from pathlib import Path

import pytest

from tests.interop.sides.their_queue import TheirQueue

from .bull_queue import LATER, add, named_bulls

PAGE = (Path(__file__).parents[3] / "docs" / "legacy-bull.md").read_text()
[PROGRAM] = re.findall(r"^```py\n(.*?)^```", PAGE.partition("### Whose job is it?\n")[2], re.DOTALL | re.MULTILINE)


@named_bulls
@pytest.mark.parametrize("library", ["bullmq5", "bullmq6"])
def test_the_program_of_the_page_says_whose_each_waiting_job_is(
    bull, old, library, node_fleet, redis, redis_url, capsys, monkeypatch
):
    of_bull = [add(bull, old), add(bull, old, delay=LATER), add(bull, old, priority=2, attempts=3)]
    theirs = TheirQueue(node_fleet.get(library), old.name)
    of_bullmq = [theirs.add("a"), theirs.add("b", delay=LATER), theirs.add("c", priority=1, attempts=2)]
    before = {key: redis.dump(key) for key in redis.keys(f"bull:{old.name}:*")}
    monkeypatch.setenv("BULLRUSH_URL", redis_url)
    exec(PROGRAM.replace("mails", old.name), {})
    said = {line.split()[0]: line.split()[-1] for line in capsys.readouterr().out.splitlines()}
    assert said == dict.fromkeys(of_bull, "Bull") | dict.fromkeys(of_bullmq, "BullMQ")
    assert {key: redis.dump(key) for key in redis.keys(f"bull:{old.name}:*")} == before
