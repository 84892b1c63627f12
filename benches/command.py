"""The command: starts the servers, runs the questions, and prints, draws and writes the answers."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path

from benches.catalogue import QUESTIONS
from benches.harness.calls import CallsError, compare_calls, measure_calls, measure_core
from benches.harness.instructions import count_instructions
from benches.harness.machine import describe
from benches.harness.pages import publish
from benches.harness.peer import NODE_MODULES
from benches.harness.plot import draw
from benches.harness.progress import Progress, rounds_of
from benches.harness.question import Answer, Question
from benches.harness.report import markdown, read_json, read_summaries, table, write_json
from benches.harness.rounds import ask
from benches.harness.server import BenchServer, Setup
from benches.harness.summary import summarize

RESULTS = Path(__file__).with_name("results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0; 1 bullrush failed; 2 something is not installed; 3 a goal is missed or a call is slower; 130 interrupted.
    """
    options = _options(arguments)
    if options.render:
        publish(options.json)
        return 0
    if options.instructions or options.against:
        return _count_or_compare(options)
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        print(
            "the comparison needs node and the packages of tests/interop: npm ci --prefix tests/interop",
            file=sys.stderr,
        )
        return 2
    progress = Progress(options.questions, options.rounds, _known(options))
    if options.all:
        from benches.harness.installing import install_peers

        install_peers(progress.say)
    if not options.only and options.json.exists():
        options.json.replace(options.json.with_suffix(".before.json"))
    answers: list[Answer] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    try:
        _ask_all(answers, progress, options)
        if not options.only:
            measure_calls()
        if options.all and not options.only:
            measure_core()
    except CallsError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ncut short; what was measured is in {options.json}: --render makes a page of it", file=sys.stderr)
        return 130
    finally:
        if answers:
            draw(read_summaries(options.json), options.json.parent)
            _print_footer(answers, time.monotonic() - began, options)
            if options.docs:
                publish(options.json)
    missed = [verdict for answer in answers for verdict in summarize(answer).verdicts if not verdict.met]
    return 1 if any(answer.failed for answer in answers) else 3 if options.check and missed else 0


def _count_or_compare(options: argparse.Namespace) -> int:
    try:
        if options.instructions:
            return 0 if count_instructions(options.against, docs=options.docs) else 3
        return 0 if compare_calls(options.against, options.rounds) else 3
    except CallsError as error:
        print(error, file=sys.stderr)
        return 1


def _ask_all(answers: list[Answer], progress: Progress, options: argparse.Namespace) -> None:
    """Run the questions; each server starts at its first use and keeps running."""
    servers: dict[Setup, BenchServer] = {}
    with ExitStack() as running:
        for question in options.questions:
            setup = Setup(aof=True) if options.aof else question.setup
            if setup not in servers:
                servers[setup] = running.enter_context(BenchServer(setup))
                machine = describe(servers[setup])
                progress.say()
                print(machine, end="\n\n")
                options.run.setdefault("machine", asdict(machine))
            turn = partial(progress.turn, question.name)
            answers.append(ask(servers[setup], question, options.jobs, rounds_of(question, options.rounds), turn))
            write_json(options.json, options.run, answers[-1:])
            progress.say()
            print(table(summarize(answers[-1])), end="\n\n", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches", description="Compare bullrush with its peers.")
    add = parser.add_argument
    add("--all", action="store_true", help="all questions and all peers; installs the peers; takes about 40 minutes")
    add("--only", nargs="+", choices=QUESTIONS, metavar="QUESTION", help=", ".join(QUESTIONS))
    add(
        "--jobs",
        type=_positive,
        default=30_000,
        help="jobs per round; questions and slow peers take a part or a multiple (default: %(default)s)",
    )
    add("--rounds", type=_positive, help="rounds that count (default: 5, with --all 3)")
    add("--aof", action="store_true", help="let Redis persist to an append-only file in all questions")
    add("--check", action="store_true", help="exit with 3 if a goal is not met")
    add("--markdown", action="store_true", help="print the tables once more, as Markdown")
    add(
        "--json",
        type=Path,
        default=RESULTS / "latest.json",
        help="where to write what was measured; plots go beside it; --only adds to it, other runs begin it anew",
    )
    add("--docs", action="store_true", help="put tables and plots into docs/benchmarks.md")
    add(
        "--against",
        type=Path,
        metavar="PYTHON",
        help="measure only single calls, by turns with the build in the environment of this Python; "
        "exit with 3 if one is slower here",
    )
    add(
        "--instructions",
        action="store_true",
        help="count only the instructions of Redis for a job, with valgrind; with --against beside the other build, "
        "and exit with 3 if one kind needs 5 %% more here",
    )
    add("--render", action="store_true", help="measure nothing: put what --json has into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (3 if options.all else 5)
    names = options.only or [name for name, question in QUESTIONS.items() if question.core or options.all]
    options.questions = [_reduced(QUESTIONS[name], options.all) for name in names]
    options.run = {
        "date": date.today().isoformat(),
        "jobs": options.jobs,
        "rounds": options.rounds,
        "aof": options.aof,
        "all": options.all,
    }
    return options


def _reduced(question: Question, everyone: bool) -> Question:
    kept = tuple(contender for contender in question.contenders if everyone or not contender.extra)
    return replace(question, contenders=kept)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _known(options: argparse.Namespace) -> dict[str, float]:
    """Return how long questions took in the last run, if it had the same size."""
    if not options.json.exists():
        return {}
    asked = read_json(options.json)["questions"].items()
    return {
        name: content["summary"]["seconds"]
        for name, content in asked
        if all(content["run"][size] == options.run[size] for size in ("jobs", "rounds", "all"))
    }


def _print_footer(answers: list[Answer], seconds: float, options: argparse.Namespace) -> None:
    identities = sorted({name for answer in answers for name in answer.identities.values()})
    summaries = [summarize(answer) for answer in answers]
    others = sum(summary.others for summary in summaries) / len(summaries)
    print("; ".join(identities))
    print(f"medians of interleaved rounds, {seconds / 60:.1f} minutes; ratio: to the first line, round by round.")
    print(f"Other programs used {others:.0%} of the machine meanwhile. All figures: {options.json}")
    if options.markdown:
        print("", *(markdown(summary) for summary in summaries), sep="\n\n")
