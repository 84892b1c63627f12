"""The page says how what waits in the new queue goes back to real Bull: its steps are played as they are printed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bullrush import LegacyQueue, Queue, Worker
from tests.waiting import wait_until

from .bull_queue import LATER, add, flavor_of

PAGE = (Path(__file__).parents[3] / "docs" / "legacy-bull.md").read_text()
SECTION = PAGE.partition("### Back to Bull\n")[2].partition("\n## ")[0]
COMMANDS, PROGRAM = (
    re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE) for kind in ("console", "py")
)
HOURLY = {"repeat": {"cron": "0 * * * *", "tz": "Europe/Paris"}}
#: Of each command its exit code: `--verify` names what Bull has now.
CODES = {"--verify": 1}

pytestmark = pytest.mark.parametrize("bull", ["bull2", "bull30", "bull3", "bull4"], indirect=True)


@pytest.fixture
def new(queue_name: str, redis_url: str):
    with Queue(queue_name, url=redis_url, prefix="bullmq") as queue:
        yield queue


@pytest.fixture
def run(bull, new, redis_url, tmp_path):
    """Run a command of the page about the queue of the test."""
    (tmp_path / "back.py").write_text(PROGRAM[0].replace("mails", new.name).replace('"4"  ', f'"{flavor_of(bull)}"  '))
    bin = Path(sys.executable).parent
    environment = {**os.environ, "BULLRUSH_URL": redis_url, "PATH": f"{bin}:{os.environ['PATH']}"}

    def run(command: str, code: int = 0) -> str:
        words = ["bash", "-c", command.replace("mails", new.name)]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    return run


def steps() -> list[str]:
    return re.findall(r"^\$ (.*)$", COMMANDS[0].replace("\\\n>", ""), re.MULTILINE)


def code_of(step: str) -> int:
    return next((code for option, code in CODES.items() if option in step), 0)


def fill(bull, old: LegacyQueue) -> None:
    for n in range(30):
        add(bull, old, {"n": n}, **({"priority": n % 3 + 1} if n % 4 == 0 else {}))
    for n in range(30, 44):
        add(bull, old, {"n": n}, delay=LATER + n, priority=2)
    add(bull, old, {"n": 44}, jobId="order-44")
    add(bull, old, {"n": 45, "fail": "never"}, attempts=1, lifo=True)
    if flavor_of(bull) >= "3":
        add(bull, old, {"n": "hourly"}, **HOURLY)


def test_the_steps_of_the_page_bring_every_job_back_to_bull_once(bull, old, new, redis, run, tmp_path):
    fill(bull, old)
    repeats = [(one.key, one.next) for one in old.get_repeatables()]
    old.migrate(new)
    fails_once(new)
    new.add("welcome", {"n": 46}, priority=7)
    new.add("welcome", {"n": 47}, priority=3, attempts=4, backoff={"type": "exponential", "delay": 5})
    order = [job.data["n"] for state in ("waiting", "prioritized") for job in new.get_jobs(state, asc=True)]
    due = {job.data["n"]: job.timestamp + job.delay for job in new.get_delayed() if not job.repeat_job_key}
    assert len(order) + len(due) == 47 and new.get_failed_count() == 1

    for step in steps():
        run(step, code_of(step))
        if step.startswith("python"):
            run(step)  # again: no job is there twice

    assert not any(new.get_job_counts("waiting", "paused", "prioritized", "delayed").values())
    assert [job.data["n"] for job in old.get_jobs("waiting")] == [45, *order]  # lifo
    assert [(one.key, one.next) for one in old.get_repeatables()] == repeats
    delayed = [job for job in old.get_jobs("delayed") if job.data["n"] != "hourly"]
    assert {job.data["n"]: redis.zscore(old.to_key("delayed"), job.id) // 4096 for job in delayed} == due
    assert {job.opts.get("priority") for job in delayed} == {2}
    assert {job.data["n"]: job.id for job in old.get_jobs("waiting")}[44] == "order-44"
    [retried] = [job for job in old.get_jobs("waiting") if job.data["n"] == 47]
    assert (retried.opts["attempts"], retried.opts["backoff"]) == (4, {"type": "exponential", "delay": 5})
    assert not redis.exists(old.to_key("ext:moved"))

    waiting = [job.id for job in old.get_jobs("waiting")]
    bull.call("work", queue=old.name)
    wait_until(lambda: len(bull.call("worked", queue=old.name)) == len(waiting), "Bull has run what waited")
    assert [id for id, _ in bull.call("worked", queue=old.name)] == waiting

    with Queue(new.name, url=new._url, prefix="bullmq") as again:  # and the next attempt to leave Bull
        add(bull, old, {"n": 99}, delay=LATER)
        run("bullrush migrate mails --to-prefix bullmq --merge")
        assert again.get_delayed_count() == len(due) + 1 + len(repeats)


def test_a_job_stays_if_bull_has_another_one_with_its_id(bull, old, new, run):
    add(bull, old, {"n": 1}, jobId="order-1")
    old.migrate(new)
    add(bull, old, {"n": 2}, jobId="order-1")
    for step in steps()[:3]:
        run(step)
    assert "('order-1', 'Bull has another job with this id')" in run(steps()[3], 1)
    assert [job.data for job in new.get_jobs(["waiting", "paused"])] == [{"n": 1}]
    assert [job.data for job in old.get_jobs("waiting")] == [{"n": 2}]


def test_what_has_ended_in_the_new_queue_does_not_go_back_by_an_old_list(bull, old, new, run):
    add(bull, old, {"n": 1})
    old.migrate(new)
    for step in steps()[:3]:
        run(step)
    new.resume()
    with Worker(new.name, lambda job: job.id, url=new._url, prefix=new.prefix) as worker:
        worker.run(max_jobs=1)
    new.pause()
    run(steps()[3])
    assert new.get_completed_count() == 1 and not any(old.get_job_counts().values())


def test_two_schedulers_that_would_be_one_repeatable_stay(bull, old, new, run):
    for id in ("a", "b"):
        new.upsert_job_scheduler(id, {"every": LATER}, {"name": "hourly", "data": {}})
    add(bull, old)
    old.migrate(new, merge=True)
    for step in steps()[:3]:
        run(step)
    said = run(steps()[3], 1)
    assert said.count("the same name and times" if flavor_of(bull) >= "3" else "Bull has no repeatables") == 2
    assert new.get_job_schedulers_count() == 2 and old.get_job_counts("waiting") == {"waiting": 1}


def test_jobs_do_not_go_back_while_the_new_queue_runs(bull, old, new, run, tmp_path):
    add(bull, old, {"n": 1})
    old.migrate(new)
    (tmp_path / "jobs.json").write_text(json.dumps([]))
    assert "pause the new queue" in run(steps()[3], 1)


def fails_once(queue: Queue) -> None:
    """Run the job that fails, which is the first one, and no other."""

    def handle(job):
        raise ValueError("never")

    with Worker(queue.name, handle, url=queue._url, prefix=queue.prefix) as worker:
        worker.run(max_jobs=1)


@pytest.mark.parametrize("app_starts", ["before", "after"])
def test_a_pattern_that_got_its_zone_by_the_move_is_no_second_repeatable(bull, old, new, redis, run, app_starts):
    if flavor_of(bull) < "3":
        pytest.skip("it has no repeatables")
    if bull.library == "bull30":
        pytest.skip("not solved for Bull 3.0: see the page")
    daily = {"repeat": {"cron": "0 7 * * *"}}
    add(bull, old, {"n": 1}, **daily)
    own = [one.key for one in old.get_repeatables()]
    old.migrate(new, tz="Europe/Berlin")
    assert [one["tz"] for one in new.get_job_schedulers()] == ["Europe/Berlin"]
    if app_starts == "before":
        add(bull, old, {"n": 1}, **daily)
    for step in steps()[:4]:
        run(step)
    add(bull, old, {"n": 1}, **daily)
    assert [one.key for one in old.get_repeatables()] == own and new.get_job_schedulers_count() == 0


def test_a_scheduler_with_a_zone_stays_if_bull_has_it_without_one(bull, old, new, run):
    if flavor_of(bull) < "3":
        pytest.skip("it has no repeatables")
    new.upsert_job_scheduler("own", {"pattern": "0 7 * * *", "tz": "Europe/Berlin"}, {"name": "daily", "data": {}})
    old.add("daily", {}, repeat={"pattern": "0 7 * * *"})
    (key,) = [one.key for one in old.get_repeatables()]
    for step in steps()[:3]:
        run(step)
    assert "of the same name and times without a time zone" in run(steps()[3], 1)
    assert [one.key for one in old.get_repeatables()] == [key] and new.get_job_schedulers_count() == 1
