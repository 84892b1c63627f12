"""The harness of the benchmarks: it notices work that was not done, names missing contenders, computes correctly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="the benchmarks' packages are not installed: pip install --group bench")

from benches import command
from benches.catalogue import QUESTIONS
from benches.contenders import NODE, bullrush, bullrush_worker, limit
from benches.harness import calls
from benches.harness.adding import Add
from benches.harness.checking import Expected, check_added, check_processed
from benches.harness.contender import LONGEST_CALL, RATE, SERVER_US, Contender, Figure
from benches.harness.goals import EVERY_PEER, AtLeast, AtMost, Times
from benches.harness.latency import percentiles
from benches.harness.measuring import Measurement
from benches.harness.pages import BEGIN, END, publish
from benches.harness.peer import PeerError
from benches.harness.processing import Process
from benches.harness.progress import Progress
from benches.harness.question import Answer, Question
from benches.harness.ratio import ratio
from benches.harness.report import markdown, read_summaries, table, write_json
from benches.harness.rounds import ask
from benches.harness.server import IN_MEMORY, BenchServer
from benches.harness.summary import Summary, summarize
from bullrush import Queue

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench_server() -> Iterator[BenchServer]:
    with BenchServer(IN_MEMORY) as server:
        yield server


def measured(rate: float, **more: float) -> Measurement:
    return Measurement(1_000, 1_000 / rate, 5.0, 7.0, 0.1, {"evalsha": (10, 100)}, more)


def answered(**rates: list[float]) -> Answer:
    names = tuple(Contender(name, ("true",), "add") for name in rates)
    question = Question("q", "A question", Add(), names, goals=(Times("ours", "peer", at_least=2.0),))
    return Answer(question, {name: [measured(rate) for rate in found] for name, found in rates.items()})


def test_a_ratio_is_the_median_of_ratios_within_rounds() -> None:
    answer = answered(peer=[100, 10, 1_000], ours=[200, 30, 1_500])
    assert ratio(answer, "ours", "peer") == 2.0


def test_a_ratio_is_above_one_for_the_better_also_where_less_is_better() -> None:
    answer = answered(peer=[100], ours=[100])
    answer.question = replace(answer.question, figures=(Figure("p99_ms", "p99 ms"),))
    answer.rounds = {"peer": [measured(1, p99_ms=4.0)], "ours": [measured(1, p99_ms=2.0)]}
    assert ratio(answer, "ours", "peer") == 2.0


def test_a_missed_goal_is_reported() -> None:
    summary = summarize(answered(peer=[100], ours=[150]))
    assert [verdict.met for verdict in summary.verdicts] == [False]
    assert "ours: at least 2x peer" in table(summary) and " NO" in table(summary)


def test_a_goal_may_be_to_beat_every_peer() -> None:
    answer = answered(**{"peer": [100], "another": [130], "bullrush, add": [150], "limit": [900]})
    limited = tuple(replace(one, limit=one.name == "limit") for one in answer.question.contenders)
    answer.question = replace(answer.question, contenders=limited)
    verdict = Times("bullrush, add", EVERY_PEER, 1.2).judge(answer)
    assert verdict and not verdict.met and verdict.measured == "1.15x another"


def test_a_goal_may_be_a_bound_with_a_peers_figure_beside_it() -> None:
    answer = answered(peer=[100], ours=[100])
    answer.rounds = {"peer": [measured(1, longest_call_ms=4.0)], "ours": [measured(1, longest_call_ms=12.0)]}
    goal = AtMost("ours", LONGEST_CALL, 10, beside="peer")
    verdict = goal.judge(answer)
    assert verdict and not verdict.met and verdict.measured == "12.0 (peer: 4.0)"
    answer.rounds["ours"] = [measured(1, longest_call_ms=9.0)]
    assert goal.judge(answer).met  # type: ignore[union-attr]


def test_a_goal_may_be_a_least_rate() -> None:
    goal = AtLeast("ours", RATE, 150_000)
    verdicts = [goal.judge(answered(ours=[rate])) for rate in (149_000, 151_000)]
    assert [verdict.met for verdict in verdicts if verdict] == [False, True]
    assert verdicts[0] and verdicts[0].goal == "ours: jobs/s at least 150,000" and verdicts[0].measured == "149,000"
    assert goal.judge(answered(peer=[1])) is None


def test_a_bound_may_be_that_of_another_machine() -> None:
    answer = answered(peer=[100], ours=[100])
    answer.rounds = {
        "peer": [measured(1, server_us=taken) for taken in (40, 30, 50)],
        "ours": [measured(1, server_us=taken) for taken in (16, 15, 15)],
    }
    goal = AtMost("ours", SERVER_US, 10, beside="peer", where=25)
    verdict = goal.judge(answer)
    assert verdict and verdict.met and verdict.measured == "10.0 (here 15.0, peer: 40.0)"
    assert verdict.goal == "ours: server us/job at most 10 where peer takes 25"
    assert not replace(goal, where=26).judge(answer).met  # type: ignore[union-attr]


def test_a_goal_of_a_contender_without_a_result_is_neither_met_nor_missed() -> None:
    assert Times("ours", "peer", 2.0).judge(answered(ours=[1])) is None
    assert AtMost("ours", LONGEST_CALL, 10).judge(answered(peer=[1])) is None
    assert AtMost("ours", SERVER_US, 10, beside="peer", where=25).judge(answered(ours=[1])) is None


def test_a_missing_contender_is_named_in_the_table() -> None:
    answer = answered(peer=[100], ours=[150])
    answer.silent["Celery"] = "is not here: could not be installed"
    for text in (table(summarize(answer)), markdown(summarize(answer))):
        assert "Celery" in text and "could not be installed" in text


def test_results_are_read_back_as_they_were(tmp_path: Path) -> None:
    answer = answered(peer=[100, 120], ours=[150, 90])
    write_json(tmp_path / "results.json", {"rounds": 2}, [answer])
    assert read_summaries(tmp_path / "results.json") == [summarize(answer)]


def test_results_of_several_runs_are_merged_in_one_file(tmp_path: Path) -> None:
    first, second = answered(peer=[100], ours=[150]), answered(peer=[10], ours=[15])
    second.question = replace(second.question, name="another")
    write_json(tmp_path / "results.json", {}, [first])
    write_json(tmp_path / "results.json", {}, [second])
    assert [summary.name for summary in read_summaries(tmp_path / "results.json")] == ["q", "another"]


def test_the_page_gets_tables_and_says_where_a_peer_is_ahead(tmp_path: Path) -> None:
    machine = {"cpu": "a CPU", "cores": 2, "system": "Linux", "python": "3.11", "server": "Redis"}
    answer = answered(**{"peer": [100], "ours": [1], "bullrush, add": [50]})
    write_json(tmp_path / "results.json", {"machine": machine, "rounds": 1, "jobs": 10}, [answer])
    page = tmp_path / "benchmarks.md"
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")
    publish(tmp_path / "results.json", page)
    text = page.read_text()
    assert "old" not in text and text.startswith("# Before") and text.endswith("after\n")
    assert "### A question" in text and "peer is 2.00 times as good as bullrush, add" in text


def test_the_page_ends_with_one_table_of_goals(tmp_path: Path) -> None:
    machine = {"cpu": "a CPU", "cores": 2, "system": "Linux", "python": "3.11", "server": "Redis"}
    missed, met = answered(peer=[100], ours=[150]), answered(peer=[100], ours=[250])
    met.question = replace(met.question, name="another")
    for answer in (missed, met):  # like a run that may be interrupted after each of them
        write_json(tmp_path / "results.json", {"machine": machine, "rounds": 1, "jobs": 10}, [answer])
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    publish(tmp_path / "results.json", page)
    goals = page.read_text().partition("### Goals")[2]
    assert "| q | ours: at least 2x peer | 1.50x | **no** |" in goals
    assert "| another | ours: at least 2x peer | 2.50x | yes |" in goals


def test_two_builds_are_compared_round_by_round() -> None:
    """A machine that was slow in one round slows both."""
    ours = [{"add": 2.0, "get": 1.1}, {"add": 4.0, "get": 1.3}, {"add": 1.0, "get": 1.2}]
    theirs = [{"add": 2.0, "get": 1.0}, {"add": 4.0, "get": 1.0}, {"add": 1.0, "get": 1.0}]
    rows, slower = calls.compared(ours, theirs)
    assert [row[3:] for row in rows[1:]] == [["1.00", ""], ["1.20", "SLOWER"]]
    assert slower == ["get"]


def test_the_remaining_time_is_the_time_of_the_remaining_turns() -> None:
    contenders = tuple(Contender(name, ("true",), "add") for name in "ab")
    questions = [Question(name, name, Add(), contenders) for name in ("first", "second")]
    progress = Progress(questions, 4, {"first": 1_000.0, "second": 600.0})
    assert progress.remaining() == "about 27 min"
    for _ in range(5):
        progress.turn("first", "a round")
    assert progress.remaining() == "about 18 min"
    progress.turn("second", "a round")
    assert progress.remaining() == "about 9 min"


def test_percentiles_are_those_of_the_sample() -> None:
    found = percentiles([float(number) for number in range(1_001)])
    assert found == {"p50_ms": pytest.approx(500), "p99_ms": pytest.approx(990), "p999_ms": pytest.approx(999)}


def test_jobs_that_were_not_added_are_noticed(bench_server: BenchServer) -> None:
    bench_server.empty()
    with Queue("few", url=bench_server.url) as queue:
        queue.add_bulk([{"name": "order", "data": {}} for _ in range(9)])
    with pytest.raises(PeerError, match="jobs in wait: 9 instead of 10"):
        check_added(bench_server, "few", 10)


def test_a_lock_that_remains_is_noticed_and_keys_of_another_peer_are_not(bench_server: BenchServer) -> None:
    bench_server.empty()
    bench_server.command("SET", "heartbeat:of:another", "1")
    check_processed(bench_server, ["none"], Expected(jobs=0, handled=0))
    bench_server.command("SET", "bull:none:1:lock", "token")
    with pytest.raises(PeerError, match="keys: 1 instead of 0"):
        check_processed(bench_server, ["none"], Expected(jobs=0, handled=0))


def test_jobs_with_other_data_are_noticed(bench_server: BenchServer) -> None:
    bench_server.empty()
    with Queue("wrong", url=bench_server.url) as queue:
        queue.add("order", {"order": 7})
    with pytest.raises(PeerError, match="a job's data"):
        check_added(bench_server, "wrong", 1)


def test_a_job_that_ran_twice_is_noticed(bench_server: BenchServer) -> None:
    bench_server.empty()
    with pytest.raises(PeerError, match="runs of the handler: 2 instead of 0"):
        check_processed(bench_server, ["none"], Expected(jobs=0, handled=2))


def test_a_question_is_asked_checked_and_answered(bench_server: BenchServer) -> None:
    contenders = (bullrush("add_bulk", "add_bulk"), limit("add"))
    question = Question("bulk", "Bulk add", Add(), contenders)
    summary = summarize(ask(bench_server, question, 200, 2, lambda text: None))
    assert [line.jobs for line in summary.lines] == [200, 200]
    assert summary.lines[1].of_limit == 1.0
    assert all(line.server_us > 0 and line.client_us > 0 for line in summary.lines)


def test_processing_is_asked_checked_and_answered(bench_server: BenchServer) -> None:
    contenders = (bullrush_worker("def", concurrency=10), limit("process"))
    question = Question("process", "Process", Process(), contenders)
    summary = summarize(ask(bench_server, question, 200, 1, lambda text: None))
    assert [line.jobs for line in summary.lines] == [200, 200]


def test_a_peer_that_is_not_installed_does_not_end_the_run(bench_server: BenchServer) -> None:
    absent = Contender("Absent", ("/nowhere/absent",), "add_bulk")
    broken = Contender("Broken", (sys.executable, "-c", "raise SystemExit('no such thing')"), "add_bulk")
    question = Question("bulk", "Bulk add", Add(), (bullrush("add_bulk", "add_bulk"), absent, broken))
    answer = ask(bench_server, question, 100, 1, lambda text: None)
    assert "could not be installed" in answer.silent["Absent"]
    assert "no such thing" in answer.silent["Broken"]
    assert list(answer.rounds) == ["bullrush, add_bulk"]


def test_a_peer_that_hangs_is_killed_with_all_its_processes(bench_server: BenchServer) -> None:
    program = (
        'import subprocess, sys; print(\'{"identity": "a sleeper"}\', flush=True); input(); '
        "print('ready', flush=True); subprocess.run(['sleep', '600'])"
    )
    hanging = Contender("Hanging", (sys.executable, "-c", program), "add_bulk")
    question = Question("bulk", "Bulk add", Add(), (hanging, bullrush("add_bulk", "add_bulk")), max_seconds=10)
    answer = ask(bench_server, question, 100, 1, lambda text: None)
    assert "took too long when it had to work" in answer.silent["Hanging"]
    assert list(answer.rounds) == ["bullrush, add_bulk"] and not answer.failed
    assert answer.seconds < 60


def test_bullrush_has_failed_if_it_does_not_do_its_work(bench_server: BenchServer) -> None:
    question = Question("bulk", "Bulk add", Add(), (limit("add"), bullrush("nothing", "no such task")))
    answer = ask(bench_server, question, 100, 1, lambda text: None)
    assert answer.failed and "did not finish" in answer.silent["bullrush, nothing"]


def test_without_the_first_contender_all_are_compared_with_the_next_one(bench_server: BenchServer) -> None:
    absent = Contender("Absent", ("/nowhere/absent",), "add_bulk")
    question = Question("bulk", "Bulk add", Add(), (absent, limit("add"), bullrush("add_bulk", "add_bulk")))
    summary = summarize(ask(bench_server, question, 100, 1, lambda text: None))
    assert [line.ratio == 1.0 for line in summary.lines] == [True, False]


def named(question: Question) -> set[str | None]:
    """Return the contenders that a question's goals are about."""
    names: set[str | None] = set()
    for goal in question.goals:
        assert isinstance(goal, Times | AtLeast | AtMost)
        other = goal.base if isinstance(goal, Times) else goal.beside if isinstance(goal, AtMost) else None
        names |= {goal.subject, other}
    return names


def test_every_question_compares_with_its_first_contender_and_has_reachable_goals() -> None:
    for question in QUESTIONS.values():
        names = [contender.name for contender in question.contenders]
        # Node has one server, no frames, no tasks, no command, no migrator, no hints, no threads and other scripts.
        names_alone = {
            *("spark_servers", "spark_read", "worker_processes", "worker_start", "legacy", "wake_up"),
            *("thread_switches", "script_times"),
        }
        alone = question.name in names_alone or question.name.startswith("task_")
        assert names[0].startswith("bullrush" if alone else NODE), question.name
        assert len(set(names)) == len(names), question.name
        assert named(question) <= {*names, EVERY_PEER, None}, question.name


@pytest.mark.node
def test_the_command_writes_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.json"
    asked = ["--only", "bulk_add", "--jobs", "100", "--rounds", "1", "--json", str(results)]
    assert command.main(asked) == 0
    printed = capsys.readouterr().out
    assert "BullMQ for Node" in printed and "server us/job" in printed and "of limit" in printed
    content = json.loads(results.read_text())
    assert content["run"]["machine"]["cores"] and "bulk_add" in content["questions"]
    assert isinstance(read_summaries(results)[0], Summary)


@pytest.mark.node
def test_a_run_that_is_cut_short_leaves_a_page_of_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def ask_one(server: BenchServer, question: Question, *size: object) -> Answer:
        if asked:
            raise KeyboardInterrupt
        asked.append(question.name)
        return Answer(question, {contender.name: [measured(9)] for contender in question.contenders})

    results, page = tmp_path / "results.json", tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    monkeypatch.setattr(command, "ask", ask_one)
    monkeypatch.setattr(command, "publish", lambda found: publish(found, page))
    assert command.main(["--only", "concurrent_add", "process_one", "--docs", "--json", str(results)]) == 130
    assert "cut short" in capsys.readouterr().err
    assert list(json.loads(results.read_text())["questions"]) == ["concurrent_add"]
    assert "### Concurrent add" in page.read_text()
