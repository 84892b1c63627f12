"""``bullrush scripts``: the Lua of each operation."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from bullrush.cli.script_examples import redis_cli
from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.output import write, write_json, write_table
from bullrush.extending import nearest, shown
from bullrush.scripts import Script, export_scripts, read_scripts

EXAMPLES = """\
  bullrush scripts                            what there is
  bullrush scripts manage/pause               its Lua, with KEYS, ARGV and an example
  bullrush scripts manage/pause > pause.lua
  redis-cli --eval pause.lua bull:mail:meta ,
  bullrush scripts manage/retry --json | jq -r .sha
  bullrush scripts --export lua/              all of them as files, for a program in another language"""

_WIDTH = 110


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="its name, such as manage/pause or just pause")
    parser.add_argument("--queue", default="mail", help="the queue of the example (default: mail)")
    parser.add_argument("--prefix", default="bull", help="the prefix of the example (default: bull)")
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="write all scripts to this folder, and scripts.json with their KEYS, ARGV, notes and an example; "
        "made if it does not exist",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the list, or one script, or export all.

    JSON: `Script` as an object with ``redis_cli``, or a list of all of them; of an export its folder and how many.
    """
    if options.export is not None:
        return _export(options)
    scripts = read_scripts()
    if options.script is None:
        if options.json:
            write_json([_as_json(script, options) for script in scripts.values()])
        else:
            write_table(["script", "what it does"], [(script.name, script.summary) for script in scripts.values()])
        return 0
    script = _named(scripts, options.script)
    if options.json:
        write_json(_as_json(script, options))
    else:
        write(_runnable(script, options))
    return 0


def _export(options: argparse.Namespace) -> int:
    if options.script is not None:
        raise CommandError("--export writes all scripts; leave out SCRIPT", USAGE)
    try:
        count = export_scripts(options.export, lambda script: redis_cli(script, options.prefix, options.queue))
    except OSError as error:
        raise CommandError(f"{shown(str(options.export))} cannot be written: {error.strerror}") from None
    if options.json:
        write_json({"folder": str(options.export), "scripts": count})
    else:
        write(f"{count} scripts and scripts.json are in {options.export}")
    return 0


def _named(scripts: dict[str, Script], name: str) -> Script:
    found = [script for script in scripts.values() if name in {script.name, script.name.rpartition("/")[2]}]
    if not found:
        short = [script.rpartition("/")[2] for script in scripts]
        raise CommandError(f"there is no script {shown(name)}.{nearest(name.rpartition('/')[2], short)}", USAGE)
    if len(found) > 1:
        raise CommandError(f"{name} may be {' or '.join(script.name for script in found)}", USAGE)
    return found[0]


def _as_json(script: Script, options: argparse.Namespace) -> dict[str, object]:
    return {**script._asdict(), "redis_cli": redis_cli(script, options.prefix, options.queue)}


def _runnable(script: Script, options: argparse.Namespace) -> str:
    """Return the Lua below comments that say how to call it."""
    parts = {
        "": script.summary,
        "KEYS[1]": script.keys,
        **({"KEYS[2]": script.other} if script.other else {}),
        "ARGV": script.argv,
        "Returns": script.returns,
        "Events": script.events,
        **({"Publishes": script.publishes} if script.publishes != "none" else {}),
    }
    lines = [f"{script.name} of bullrush. SHA-1 for EVALSHA, without these comments: {script.sha}"]
    for title, text in parts.items():
        indent = f"{title} ".ljust(8) if title else ""
        lines += textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
    for note in script.notes:
        lines += textwrap.wrap(note, _WIDTH, initial_indent="Note    ", subsequent_indent=" " * 8)
    if example := redis_cli(script, options.prefix, options.queue):
        lines += ["", "Example:", *(f"  {line}" for line in example.splitlines())]
    header = "\n".join(f"-- {line}".rstrip() for line in lines)
    return f"{header}\n\n{script.source.rstrip()}"
