"""The commands by name, and the parser of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple, NoReturn

from bullrush.masking import masked_in


class Command(NamedTuple):
    """Where a command is, and what it does.

    Attributes:
        module: its module below ``bullrush.cli``.
        summary: what it does, in a few words.
    """

    module: str
    summary: str


#: All commands. A module has ``EXAMPLES`` (lines for its ``--help``), ``configure(parser)``, which adds its arguments,
#: and ``run(options) -> int``, which returns the exit code.
COMMANDS: Final = {
    "worker": Command("worker.command", "run workers, tasks or handlers by their import path"),
    "info": Command("queues.info", "all queues: counts, workers, jobs per minute"),
    "counts": Command("queues.counts", "the number of jobs per state"),
    "health": Command("queues.health", "whether somebody works a queue, and fast enough; for scripts and alerts"),
    "routes": Command("queues.routes", "jobs with a target: what waits where, and for how many workers"),
    "workers": Command("queues.workers", "the connected workers"),
    "schedulers": Command("queues.schedulers", "the job schedulers"),
    "jobs": Command("jobs.command", "list, search, show, update, retry, promote, remove or cancel jobs"),
    "add": Command("jobs.add", "add a job"),
    "failures": Command("jobs.failures", "the failed jobs, grouped by what failed"),
    "why": Command("jobs.why", "why a job does not run, or what happened to it"),
    "record": Command("history.record", "write what happens to jobs into a file, until Ctrl-C"),
    "history": Command("history.show", "jobs that were recorded, also those that are gone, and their attempts"),
    "logs": Command("jobs.logs", "the log of a job"),
    "flow": Command("jobs.flow", "a job and its children as a tree"),
    "events": Command("queues.events", "follow the events of a queue"),
    "limits": Command("queues.limits", "global concurrency and rate limit of a queue: show or change them"),
    "pause": Command("queues.pausing", "let workers take no more jobs"),
    "resume": Command("queues.pausing", "let workers take jobs again"),
    "drain": Command("queues.drain", "remove all jobs that wait"),
    "clean": Command("queues.clean", "remove old jobs of a state"),
    "obliterate": Command("queues.obliterate", "remove a queue with all its jobs"),
    "doctor": Command("doctor", "look for what is wrong with the server and its queues, and say what to do"),
    "dashboard": Command("dashboard", "pages that say what needs a human, and why; in a browser on this machine"),
    "migrate": Command("migrate.command", "move a queue of Bull, BullMQ's predecessor, to BullMQ"),
    "acl": Command("acl", "the rights that a Redis user needs, by what its program does"),
    "scripts": Command("scripts", "the Lua of each operation, for redis-cli and other languages"),
    "completion": Command("completion", "completion for a shell: bash, zsh or tcsh"),
}

EXIT_CODES: Final = "exit codes: 0 done, 1 failed or not found, 2 wrong usage, 3 Redis not reached or not usable"


#: Words of other libraries -> what to write.
_OTHER_WORDS: Final = {
    "beat": "It needs no process here: a worker makes the jobs of @tasks.cron and @tasks.every.",
    "flower": "Write 'bullrush dashboard'.",
    "inspect": "Write 'bullrush info', 'bullrush workers QUEUE' or 'bullrush jobs list QUEUE --state active'.",
    "purge": "Write 'bullrush drain QUEUE'.",
    "-A": "A worker gets its tasks as module:object: 'bullrush worker app:tasks'.",
}


class _Version(argparse.Action):
    """Shows the version. Only then is it looked up, which takes a fifth of the time that a command takes to start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"bullrush {version('bullrush')}\n")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Its errors show no passwords, and name the word that was meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from bullrush.extending import nearest

        known = [str(choice) for choice in action.choices]
        verbs = [*load("jobs").VERBS] if action.dest == "command" else []
        if value in _OTHER_WORDS:
            hint = f" {_OTHER_WORDS[value]}"
        elif value in verbs:
            hint = f" Did you mean 'jobs {value}'?"
        else:
            hint = nearest(str(value), known + [f"jobs {verb}" for verb in verbs])
        raise argparse.ArgumentError(action, f"there is no {value!r}.{hint}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and note in ``parser`` which command or verb it was: its own parser comes first."""
        options, left = super().parse_known_args(args, namespace)
        options.parser = getattr(options, "parser", self)
        return options, left

    def error(self, message: str) -> NoReturn:
        # The URL may stand where a command or a number is expected.
        super().error(masked_in(message))


def hint_for(words: Sequence[str]) -> str:
    """Return a sentence that says what to write instead of a word of another library; "" if there is none."""
    return next((f". {_OTHER_WORDS[word]}" for word in words if word in _OTHER_WORDS), "")


def load(name: str) -> ModuleType:
    """Return the module of a command."""
    return import_module(f"bullrush.cli.{COMMANDS[name].module}")


def build_parser(*names: str) -> argparse.ArgumentParser:
    """Return the parser of ``bullrush``.

    Args:
        names: the commands whose arguments are added. Their modules are imported.
    """
    parser = _Parser(
        prog="bullrush",
        description="A job queue that speaks the BullMQ wire protocol.",
        epilog=(
            "'bullrush COMMAND --help' shows the options and examples of a command. Redis is found by its option "
            "--url,\n"
            "or by the variable BULLRUSH_URL, which keeps passwords out of the list of processes.\n\n" + EXIT_CODES
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND [...]", required=True, title="commands")
    for name, command in COMMANDS.items():
        description = command.summary[0].upper() + command.summary[1:] + "."
        below = commands.add_parser(
            name,
            help=command.summary,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in names:
            module = load(name)
            below.epilog = f"examples:\n{module.EXAMPLES.rstrip()}\n\n{EXIT_CODES}"
            module.configure(below)
    return parser
