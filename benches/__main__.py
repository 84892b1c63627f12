"""Asks all questions and prints the answers: ``python -m benches --help``."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from benches import bulk_add, process, single_add
from benches.harness.machine import describe
from benches.harness.peer import NODE_MODULES, PeerError
from benches.harness.question import Question
from benches.harness.report import markdown, table, write_json
from benches.harness.rounds import Answer, ask
from benches.harness.server import BenchServer
from benches.harness.summary import verdicts

QUESTIONS: tuple[Question, ...] = (*bulk_add.QUESTIONS, *single_add.QUESTIONS, *process.QUESTIONS)
RESULTS = Path(__file__).with_name("results")


def main() -> int:
    options = _options()
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        print(
            "the comparison needs node and the packages of tests/interop: npm ci --prefix tests/interop",
            file=sys.stderr,
        )
        return 2
    began = time.monotonic()
    answers: list[Answer] = []
    with BenchServer(persistence=options.aof) as server:
        machine = describe(server)
        print(machine, end="\n\n")
        try:
            for question in options.only:
                answer = ask(server, question, options.jobs, options.rounds, _progress)
                answers.append(answer)
                _progress("")
                print(table(answer), end="\n\n")
        except PeerError as error:
            _progress("")
            print(f"not comparable: {error}", file=sys.stderr)
            return 1
    settings: dict[str, object] = {"jobs": options.jobs, "rounds": options.rounds, "aof": options.aof}
    write_json(options.json, machine, settings, answers)
    _print_footer(answers, time.monotonic() - began, options)
    missed = [verdict for answer in answers for verdict in verdicts(answer) if not verdict.met]
    return 3 if missed and options.check else 0


def _options() -> argparse.Namespace:
    names = {question.name: question for question in QUESTIONS}
    parser = argparse.ArgumentParser(prog="python -m benches", description="Compare bullrush with its peers.")
    parser.add_argument(
        "--jobs", type=_positive, default=30_000, help="jobs per round of the fastest (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=_positive, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument(
        "--only", nargs="+", choices=names, default=list(names), metavar="QUESTION", help=", ".join(names)
    )
    parser.add_argument("--aof", action="store_true", help="let Redis persist to an append-only file")
    parser.add_argument("--check", action="store_true", help="exit with 3 if a goal is not met")
    parser.add_argument("--markdown", action="store_true", help="print the tables once more, for the documentation")
    parser.add_argument("--json", type=Path, default=RESULTS / "latest.json", help="where to write what was measured")
    options = parser.parse_args()
    options.only = [names[name] for name in options.only]
    return options


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
        print("", *(markdown(answer) for answer in answers), sep="\n\n")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
