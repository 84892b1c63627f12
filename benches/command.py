"""The one command: starts the servers, asks the questions, prints, draws and writes down the answers."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from benches.catalogue import QUESTIONS
from benches.harness.calls import measure_calls, measure_core
from benches.harness.machine import describe
from benches.harness.pages import publish
from benches.harness.peer import NODE_MODULES, PeerError
from benches.harness.plot import draw
from benches.harness.question import Question
from benches.harness.report import markdown, read_summaries, table, write_json
from benches.harness.rounds import Answer, ask
from benches.harness.server import BenchServer
from benches.harness.summary import summarize

RESULTS = Path(__file__).with_name("results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0; 1 bullrush failed at something; 2 something is not here; 3 a goal is missed."""
    options = _options(arguments)
    if options.render:
        publish(options.json)
        return 0
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        print(
            "the comparison needs node and the packages of tests/interop: npm ci --prefix tests/interop",
            file=sys.stderr,
        )
        return 2
    if options.all:
        from benches.harness.installing import install_peers

        install_peers(_progress)
    began = time.monotonic()
    answers: list[Answer] = []
    failed = False
    with ExitStack() as servers:
        for question in options.questions:
            try:
                answers.append(_ask(servers, question, options))
                write_json(options.json, options.run, answers)
            except PeerError as error:
                failed = True
                _progress("")
                print(f"{question.title}: not comparable: {error}", file=sys.stderr)
    if not answers:
        return 1
    draw(read_summaries(options.json), options.json.parent)
    _print_footer(answers, time.monotonic() - began, options)
    if options.save_baseline or not options.only:
        measure_calls(save=options.save_baseline)
    if options.all and not options.only:
        measure_core()
    if options.docs:
        publish(options.json)
    missed = [verdict for answer in answers for verdict in summarize(answer).verdicts if not verdict.met]
    return 1 if failed else 3 if missed and options.check else 0


def _ask(servers: ExitStack, question: Question, options: argparse.Namespace) -> Answer:
    """Ask one question; the servers start when they are needed for the first time and stay."""
    aof = question.aof or options.aof
    if aof not in options.servers:
        server = servers.enter_context(BenchServer(persistence=aof))
        options.servers[aof] = server
        machine = describe(server)
        print(machine, end="\n\n")
        options.run.setdefault("machine", asdict(machine))
    answer = ask(options.servers[aof], question, options.jobs, options.rounds, _progress)
    _progress("")
    print(table(summarize(answer)), end="\n\n", flush=True)
    return answer


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bullrush bench", description="Compare bullrush with its peers.")
    add = parser.add_argument
    add("--all", action="store_true", help="all questions and all peers; installs the peers; takes an hour or two")
    add("--only", nargs="+", choices=QUESTIONS, metavar="QUESTION", help=", ".join(QUESTIONS))
    add("--jobs", type=_positive, default=30_000, help="jobs per round of the fastest (default: %(default)s)")
    add("--rounds", type=_positive, default=5, help="rounds that count (default: %(default)s)")
    add("--aof", action="store_true", help="let Redis persist to an append-only file in all questions")
    add("--check", action="store_true", help="exit with 3 if a goal is not met")
    add("--markdown", action="store_true", help="print the tables once more, as Markdown")
    add(
        "--json",
        type=Path,
        default=RESULTS / "latest.json",
        help="where to write what was measured; plots go beside it",
    )
    add("--docs", action="store_true", help="put tables and plots into docs/benchmarks.md")
    add("--save-baseline", action="store_true", help="measure single calls and let later runs compare with that")
    add("--render", action="store_true", help="measure nothing: put what --json has into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    names = options.only or [name for name, question in QUESTIONS.items() if question.core or options.all]
    options.questions = [_reduced(QUESTIONS[name], options.all) for name in names]
    options.run = {"jobs": options.jobs, "rounds": options.rounds, "aof": options.aof, "all": options.all}
    options.servers = {}
    return options


def _reduced(question: Question, everyone: bool) -> Question:
    kept = tuple(contender for contender in question.contenders if everyone or not contender.extra)
    return replace(question, contenders=kept)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _print_footer(answers: list[Answer], seconds: float, options: argparse.Namespace) -> None:
    identities = sorted({name for answer in answers for name in answer.identities.values()})
    others = [found.others for answer in answers for rounds in answer.rounds.values() for found in rounds]
    print(f"{'; '.join(identities)}")
    print(
        f"medians of {options.rounds} interleaved rounds in {seconds:.0f} s; ratio: to the first line, round by round."
    )
    print(f"Other programs used {sum(others) / len(others):.0%} of the machine meanwhile. All figures: {options.json}")
    if options.markdown:
        print("", *(markdown(summarize(answer)) for answer in answers), sep="\n\n")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
