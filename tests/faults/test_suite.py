"""The fault suite finds what it looks for: each rule, broken in a made-up history, is named.

A right history is silent.
"""

import itertools
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bullrush import Queue, Worker
from tests.waiting import wait_until

from .suite import processes
from .suite.awake import Asleep, look
from .suite.clock import Clock
from .suite.faults import FAULTS
from .suite.flatness import flatness
from .suite.happened import Happened
from .suite.history import History, Run, Stored
from .suite.invariants import Findings, check
from .suite.paragraphs import wrapped
from .suite.plan import RoundPlan
from .suite.processes import Process, Processes
from .suite.report import PAGE, load_soak, page, unseen
from .suite.results import add, load, of_round, share
from .suite.round import Round


def right() -> History:
    """A job that completed after its first worker was killed, and one that ran once."""
    history = History()
    first, second = Run("w0.0", "p1-14", "w0", 10.0, 1), Run("w1.0", "p1-14", "w1", 16.0, 2, 16.1, 16.2)
    other = Run("w1.1", "p1-16", "w1", 16.0, 1, 16.1, 16.2)
    for run in (first, second, other):
        history.runs[run.key].append(run)
        history.by_name[run.name] = run
    for job_id, run in (("1", second), ("2", other)):
        history.stored[run.key] = [Stored(job_id, "completed", run.key, run.name, 1, 16.2)]
        history.ids[job_id], history.places[job_id], history.outcomes[job_id] = run.key, 1, 1
        history.acknowledged[run.key] = 9.0, "p1-sync"
    history.keys_left = ["meta", "id", "events", "completed", "1", "2", "2:logs"]
    return history


def found(
    history: History,
    *more: Happened,
    footprints: tuple = (),
    wrong: tuple[str, ...] = (),
    durable: bool = False,
    starved: float = 0.0,
    asleep: tuple[Asleep, ...] = (),
) -> Findings:
    happened = [Happened("worker killed", 10.5, 10.5, frozenset(["w0"]), False), *more]
    plan, odd, findings = (
        RoundPlan("single", 1, 1, durable=durable),
        SimpleNamespace(wrong=lambda: wrong),
        Findings(footprints=list(footprints), asleep=list(asleep)),
    )
    heartbeat = SimpleNamespace(lost=lambda _began, _ended: starved)
    check(SimpleNamespace(findings=findings, happened=happened, plan=plan, odd=odd, heartbeat=heartbeat), history)
    return findings


def test_a_round_in_which_all_is_right_has_no_violations():
    findings = found(right(), footprints=[("sync", 20, 9, 22, 9)])
    assert findings.violations == []
    assert (findings.repeated, findings.lost) == (1, 0)
    assert findings.recoveries["worker killed"] == [pytest.approx(5.7)]


def lose(history: History) -> None:
    history.acknowledged["p1-20"] = 12.5, "p1-sync"


def add_twice(history: History) -> None:
    history.stored["p1-16"].append(Stored("3", "completed", "p1-16", None, 1, 16.2))
    history.places["3"] = history.outcomes["3"] = 1


def end_otherwise(history: History) -> None:
    history.stored["p1-16"] = [Stored("2", "failed", "p1-16", "w1.1", 1, 16.2)]


def stay_in_two_places(history: History) -> None:
    history.places["1"] = 2


def lose_the_hash(history: History) -> None:
    history.ids["1"] = ""


def end_twice(history: History) -> None:
    history.outcomes["1"] = 2


def accept_the_outcome_of_the_first_worker(history: History) -> None:
    history.stored["p1-14"] = [Stored("1", "completed", "p1-14", "w0.0", 1, 16.2)]
    history.by_name["w0.0"].ended = history.by_name["w0.0"].accepted = 16.05


def run_again_for_no_reason(history: History) -> None:
    run = Run("w1.2", "p1-16", "w1", 30.0, 2, 30.1)
    history.runs["p1-16"].append(run)
    history.by_name[run.name] = run


def be_late(history: History) -> None:
    history.by_name["w1.0"].accepted = 60.0


def leave_a_lock(history: History) -> None:
    history.keys_left.append("1:lock")


def leave_a_hash(history: History) -> None:
    history.keys_left.append("7")


@pytest.mark.parametrize(
    ("breaks", "text"),
    [
        (lose, "1 acknowledged jobs are lost"),
        (add_twice, "was added 2 times"),
        (end_otherwise, "must be completed"),
        (stay_in_two_places, "in more than one place"),
        (lose_the_hash, "have no hash"),
        (end_twice, "more than one outcome"),
        (accept_the_outcome_of_the_first_worker, "was accepted although"),
        (run_again_for_no_reason, "no fault explains it"),
        (be_late, "after the last fault that hit it"),
        (leave_a_lock, "keys are left over"),
        (leave_a_hash, "keys are left over"),
    ],
)
def test_each_broken_rule_is_a_violation(breaks, text):
    history = right()
    breaks(history)
    assert any(text in violation for violation in found(history).violations)


def test_a_worker_that_leaks_and_an_odd_job_without_an_outcome_are_violations():
    violations = found(right(), footprints=[("aio", 20, 9, 40, 20)], wrong=("the odd job has no outcome",)).violations
    assert len(violations) == 3, violations


def test_only_faults_for_everybody_and_the_machine_may_delay_a_recovery():
    history = right()
    history.by_name["w1.0"].accepted = 50.0
    assert found(history, Happened("partition", 12, 45, frozenset(["w5"]), False)).violations
    assert not found(history, Happened("server killed", 12, 45, None, False)).violations
    assert not found(history, starved=30.0).violations


@pytest.mark.parametrize(
    ("ended", "violations"), [(11.9, 0), (11.4, 1)], ids=["a fault just before", "a fault long before"]
)
def test_only_a_fault_may_take_a_marker_and_leave_all_workers_asleep(ended, violations):
    asleep = Asleep(awake=12.0, began=12.1, jobs=3, workers=2)
    cut = Happened("connections cut", 11.3, ended, None, False)
    assert len(found(right(), cut, asleep=(asleep,)).violations) == violations


def test_a_job_that_waits_beside_a_sleeping_worker_without_a_marker_is_seen(redis, redis_url, queue_name):
    base, let = f"bull:{queue_name}:", threading.Event()
    with (
        Queue(queue_name, url=redis_url) as queue,
        Worker(queue_name, lambda _: let.wait(30), url=redis_url, concurrency=2, autorun=True),
    ):
        queue.add("one")
        wait_until(lambda: redis.llen(base + "active") == 1, "the worker runs a job")
        wait_until(lambda: not redis.exists(base + "marker") and look(redis, queue_name)[2], "it has room and sleeps")
        redis.hset(base + "x", mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": 1})
        redis.rpush(base + "wait", "x")
        wait_until(lambda: look(redis, queue_name) == ("x", 1, 1), "the worker sleeps")
        redis.hset(base + "meta", "paused", 1)
        assert look(redis, queue_name)[0] is None, "a pause is no sleep"
        redis.hdel(base + "meta", "paused")
        redis.zadd(base + "marker", {"0": 0})
        wait_until(lambda: redis.llen(base + "active") == 2, "it runs both")
        redis.rpush(base + "wait", "y")
        redis.delete(base + "marker")
        wait_until(lambda: look(redis, queue_name) == ("y", 1, 0), "a worker without room does not sleep")
        redis.lrem(base + "wait", 0, "y")
        let.set()


def test_jobs_that_no_replica_had_are_counted_after_an_unplanned_failover():
    history = right()
    lose(history)
    findings = found(history, Happened("master killed", 12, 13, None, True))
    assert (findings.violations, findings.lost) == ([], 1)


def test_a_job_lost_long_after_a_failover_or_although_its_producer_waited_is_a_violation():
    history = right()
    lose(history)
    assert found(history, Happened("master killed", 30, 31, None, True)).violations
    assert found(history, Happened("master killed", 12, 13, None, True), durable=True).violations


def test_an_old_master_may_lose_the_adds_of_others_for_longer_than_ours_since_only_ours_hear_of_the_new_one():
    history = right()
    moved = Happened("failover by itself", 4, 12, None, True, counts=False)
    history.acknowledged["p1-20"] = 12.5, "p2-node"
    assert found(history, moved).lost == 1 and not found(history, moved).violations
    history.acknowledged["p1-20"] = 12.5, "p2-aio"
    assert found(history, moved).violations


def process_of(kind: str, program: str, folder: Path) -> Process:
    (folder / "p0.ledger").touch()
    return Process(["sh", "-c", program], kind, folder / "p0.ledger", "", Clock(folder / "clock"), dict(os.environ))


@pytest.mark.parametrize(("kind", "violations", "counted"), [("sync", 1, 0), ("node", 0, 1)])
def test_a_process_that_does_not_end_is_a_violation_and_one_of_node_is_counted(
    kind, violations, counted, tmp_path, monkeypatch
):
    monkeypatch.setattr(processes, "END_SECONDS", 0.1)
    hanging = process_of(kind, "trap '' TERM; echo ready; while :; do read x; done </dev/null", tmp_path)
    wait_until(lambda: hanging.has_said("ready"), "it ignores SIGTERM")
    round = played(Processes(tmp_path, "q", str))
    Round.end(round, [hanging])
    assert Round._has_left(round, hanging)
    assert (len(round.findings.violations), round.findings.hung_of_node) == (violations, counted)


@pytest.mark.parametrize(("ledger", "violations"), [("", 0), ("b 1 k p0.0 1\n", 1)], ids=["starting", "working"])
def test_only_a_process_that_is_still_starting_may_end_by_sigterm(ledger, violations, tmp_path):
    killed = process_of("sync", "kill $$", tmp_path)
    killed.ledger.write_text(ledger)
    killed.wait()
    assert Round._has_left(round := played(Processes(tmp_path, "q", str)), killed)
    assert len(round.findings.violations) == violations


def played(some: Processes) -> Any:
    """Return what a round needs in order to end processes."""
    return SimpleNamespace(findings=Findings(), processes=some, deadly=set())


@pytest.mark.parametrize("topology", ["single", "sentinel", "cluster"])
def test_a_seed_gives_the_same_faults_again(topology):
    def names() -> list[str]:
        lanes = RoundPlan(topology, 7, 90).lanes().values()
        return [fault.name for lane in lanes for fault, _ in itertools.islice(lane, 30)]

    once, again = names(), names()
    assert once == again
    assert {name for name, fault in FAULTS.items() if topology in fault.where} == set(once), "each kind at least once"


def result_of(seed: int, *violations: str, begun: bool = True) -> dict[str, Any]:
    found = Findings(jobs=10, violations=list(violations), recoveries={"worker killed": [5.7]}, pick_ups=[0.04])
    found.faults["worker killed"] = 3
    topology = SimpleNamespace(servers=[SimpleNamespace(version=(7, 0, 15))])
    return of_round(
        RoundPlan("single", seed, 3), SimpleNamespace(findings=found, topology=topology, has_begun=begun), 60
    )


def test_results_of_rounds_become_a_page():
    assert share({"0.1": 98, "3.0": 1, "9.5": 1}, 0.5) == 0.1
    assert share({"0.1": 98, "3.0": 1, "9.5": 1}, 0.99) == 3.0
    text = page([*(result_of(seed) for seed in (8, 7, 12)), result_of(9, "no memory", begun=False)])
    assert "9 faults over 30 jobs, 0 violations" in text
    assert "| worker killed | 9 | 5.7 s | 5.7 s |" in text
    assert "- One server: 7-8 (3), 12 (3)" in text
    assert "say nothing about jobs: 1. One server, seed 9: `no memory`." in text


def test_a_round_with_violations_is_published():
    text = page([result_of(7, "the round could not go on: no memory"), result_of(8)])
    assert "6 faults over 20 jobs, 1 violations" in text
    assert "`the round could not go on: no memory`" in text


def test_a_round_whose_violation_led_to_a_mend_is_listed_and_not_added_up():
    text = page([result_of(7, "a job waited 5 s") | {"mended": "A worker kept a marker."}, result_of(8)])
    assert "3 faults over 10 jobs, 0 violations" in text
    assert "- One server, seed 7: `a job waited 5 s`. A worker kept a marker.\n" in text


def test_results_of_several_machines_add_up_and_a_round_counts_once(tmp_path):
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    common = result_of(1)
    assert add([common, result_of(2)], here) == 2
    assert add([common, result_of(3, "a job is lost")], there) == 2
    assert add(load(there), here) == 1
    assert add(load(there), here) == 0
    both = load(here)
    assert [one["seed"] for one in both] == [1, 2, 3]
    assert "9 faults over 30 jobs, 1 violations" in page(both)


def grown(*, memory: int = 0, threads: int = 0) -> list[str]:
    samples = [
        {"minute": at, "keys": 5000, "w0-sync": [50_000 + at * memory, 20, 10 + at * threads]} for at in range(100)
    ]
    return [name for name, _, _, late, most in flatness(samples) if late > most]


def test_a_soak_names_what_grows():
    assert grown() == []
    assert grown(memory=200) == ["w0-sync"]
    assert grown(threads=1) == ["w0-sync"]


def test_kinds_of_faults_that_no_round_has_had_are_named():
    every = {"faults": dict.fromkeys(FAULTS, 1)}
    assert unseen({"single": every}) == ""
    names = list(FAULTS)
    some = [{"faults": dict.fromkeys(part, 1)} for part in (names[:2], names[1:-2])]
    text = unseen({"single": some[0], "cluster": some[1]})
    assert text.endswith(f"without results are: {names[-2]}, {names[-1]}.\n")
    assert f"{len(names) - 2} of the {len(names)} kinds" in text


def test_the_page_has_what_the_results_say():
    assert PAGE.read_text() == page(load(), load_soak()), "try: python -m tests.faults.suite.report"


def test_paragraphs_and_items_end_at_120_columns_while_tables_and_code_stay() -> None:
    words, row = "word " * 30, f"| {'x' * 130} |"
    assert wrapped(f"{words}\n{words}\n\n1. {words}\n{row}\n```\n{words}\n```\n").split("\n") == [
        *(("word " * count).strip() for count in (24, 24, 12)), "",
        "1. " + ("word " * 23).strip(), "   " + ("word " * 7).strip(), row, "```", words, "```", "",
    ]  # fmt: skip
