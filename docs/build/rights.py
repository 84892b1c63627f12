"""Writes which Redis commands each role needs, as the scripts and the sources name them: ``make rights``.

A role is a list of scripts and of source files. Their commands are the words in capitals that they name, but for the
words of `_ARGUMENTS`. So a command that somebody adds to a script is in the table of each role that runs the script.
"""

from __future__ import annotations

import fnmatch
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bullrush.rights import acl_rule

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT / "python" / "bullrush" / "rights.py"
PAGE: Final = ROOT / "docs" / "security.md"

#: Words in capitals that are no commands: arguments, codes of errors, formats.
_ARGUMENTS: Final = frozenset(
    word
    for line in """
    ACL AND ASC ASK BEFORE BLOCK BUSY CLUSTERDOWN CODES COUNT CROSSSLOT DENIED DESC ERR EX FLUSHDB GETNAME JSON KEEPTTL
    LEFT LIMIT LOADING MASTERDOWN MATCH MAXLEN MINID MISCONF MOVED NOAUTH NOPERM NOPROTO NOREPLICAS NOSCRIPT NX OOM
    PATTERN PX RANK READONLY REPLY RIGHT STREAMS TRYAGAIN UNBLOCKED UTC WITHSCORES WRONGPASS WRONGTYPE XX
    """.splitlines()
    for word in line.split()
)
#: Commands of which each subcommand is a right of its own.
_CONTAINERS: Final = ("ACL", "CLIENT", "CLUSTER", "CONFIG", "MEMORY", "OBJECT", "PUBSUB", "SCRIPT", "SENTINEL", "XINFO")
#: What the Redis crate sends by itself, and what a connection asks when it is idle.
_OF_THE_CRATE: Final = frozenset({"client|setinfo", "ping", "select", "subscribe", "unsubscribe"})

#: Commands that may be refused: what is then missing.
USEFUL: Final = {
    "asking": "a Redis Cluster",
    "cluster|slots": "a Redis Cluster",
    "client|id": "with `CLIENT KILL`, what is said there",
    "client|list": "`get_workers()`, `get_queue_events()`, workers without a profile in `route_status()`, and the "
    "programs with Bull that a [bridge](legacy-bull.md#the-bridge) names",
    "client|setname": "the name in `CLIENT LIST`, by which `get_workers()` finds a worker",
    "echo": "the proof that no reply got lost, or came twice, while its connection stayed open: such a fault is not "
    "noticed then. A connection looks every 5 s whether it may ask for it now",
    "info": "the checks of the server's version, its eviction policy and its role",
    "publish": "[messages](notifications.md): others notice by themselves, a little later",
    "pubsub|numsub": "the refusal of a queue of [Bull](legacy-bull.md) that shows itself only by the programs that "
    "listen to it",
    "select": "another database than 0",
    "subscribe": "[messages](notifications.md): this program notices by itself, a little later",
    "unsubscribe": "[messages](notifications.md): this program notices by itself, a little later",
    "wait": "`durable=True`, which then fails",
}
#: Sent, but in no rule: what is then missing, and why it is in none.
NEVER: Final = {
    "client|setinfo": "the name of the Redis library in `CLIENT LIST`. Each connection sends it, so `ACL LOG` shows "
    "that it was denied. Redis 7.0 refuses a rule with it",
    "client|kill": "after a lost connection `pause`, `drain` and other [changes](production.md#late-requests) raise an "
    "`OutcomeUnknownError`, where they would be sent again. It also lets the user end the connections of others",
    "config|get": "`durable=True` on a server before Redis 7.2 with an append-only file and no replica; some checks of "
    "the [doctor](doctor.md); how long a value the server takes. It also shows passwords of the server",
    "waitaof": "`durable=True` from Redis 7.2 on with an append-only file and no replica. Servers before Redis 7.2 "
    "refuse a rule with it",
}


class Role(NamedTuple):
    """What a role does.

    Attributes:
        summary: what it is for, for people.
        scripts: names of scripts, or patterns.
        sources: paths of source files below the root, or patterns.
        without: sources that other roles have and this one does not.
        roles: other roles whose rights it has as well.
    """

    summary: str
    scripts: Sequence[str] = ()
    sources: Sequence[str] = ()
    without: Sequence[str] = ()
    roles: Sequence[str] = ()


#: What every program does: connect, and look whether the keys are those of a BullMQ queue.
_ALWAYS: Final = ("src/connection/*", "src/queue/legacy/*", "src/scripts/call.rs")
#: How a worker waits.
_WAITING: Final = ("src/connection/blocking.rs",)
_OBSERVE: Final = (
    "src/events/*",
    "src/queue/getters.rs",
    "src/queue/routes/registry.rs",
    "src/reads/*",
)
#: Reads that only Spark needs, and those of a whole server.
_OF_SPARK: Final = ("src/events/history.rs", "src/reads/batches.rs", "src/reads/runs.rs")
_OF_SERVERS: Final = ("src/reads/orphans.rs", "src/reads/servers.rs")

ROLES: Final = {
    "producer": Role(
        "adds jobs, flows and job schedulers, and waits for their results",
        scripts=(
            "add/*",
            "hint/provide_wake_hint",
            "inspect/get_*",
            "limit/*",
            "manage/remove_job_scheduler",
            "route/register_route",
            "route/retire_routes",
        ),
        sources=(
            "src/queue/checks.rs",
            "src/queue/durability.rs",
            "src/scripts/hint.rs",
            *_OBSERVE,
        ),
        without=(*_WAITING, *_OF_SPARK, *_OF_SERVERS),
    ),
    "worker": Role(
        "runs jobs, and everything that a handler does with its own job",
        scripts=(
            "add/add_job_scheduler",
            "add/add_scheduler_iteration",
            "fetch/*",
            "finish/*",
            "hint/*",
            "inspect/*",
            "limit/*",
            "lock/*",
            "manage/add_log",
            "manage/clear_logs",
            "manage/promote_due",
            "manage/remove_child_dependency",
            "manage/remove_job_scheduler",
            "manage/remove_unprocessed_children",
            "manage/update_data",
            "manage/update_progress",
            "route/*",
        ),
        sources=(
            "src/queue/checks.rs",
            "src/queue/routes/fallback.rs",
            "src/queue/settings.rs",
            "src/scripts/hint.rs",
            "src/timers/*",
            "src/worker/*",
            "src/writes/attempt.rs",
            "src/writes/cron.rs",
            *_OBSERVE,
        ),
        without=(*_OF_SPARK, *_OF_SERVERS),
    ),
    "reader": Role(
        "reads queues, jobs, metrics and events, and changes nothing",
        scripts=("inspect/get_*", "inspect/is_drained", "limit/get_usage"),
        sources=(
            "src/queue/read/*",
            "src/queue/routes/status.rs",
            "src/recorder/*",
            "python/bullrush/doctor/*",
            *_OBSERVE,
        ),
        without=(*_WAITING, *_OF_SPARK, "src/reads/orphans.rs", "python/bullrush/doctor/repairs.py"),
    ),
    "spark": Role(
        "an executor of Spark: adds rows as jobs, runs jobs, reads jobs as rows",
        sources=(
            "src/queue/read/*",
            "src/writes/batches.rs",
            *_OF_SPARK,
        ),
        roles=("producer", "worker"),
    ),
    "admin": Role(
        "everything that a program or the command line can do, moving queues of Bull included",
        scripts=("*",),
        sources=("src/*", "python/*"),
        roles=("producer", "worker", "reader"),
    ),
}
#: Files with names of commands that they do not send, or not to the Redis of the queues.
_LISTS: Final = (
    "python/bullrush/cli/*",
    "python/bullrush/django/*",
    "python/bullrush/embedded/*",
    "python/bullrush/recorder/*",
    "python/bullrush/rights.py",
    "python/bullrush/scripts.py",
    "src/bindings/queue/command.rs",
    "src/connection/topology/sentinel.rs",
)


class Rights(NamedTuple):
    """The commands of a role, in lower case, sorted; a subcommand after a bar.

    Attributes:
        needed: without them calls fail.
        useful: without them something is missing, see `USEFUL`.
    """

    needed: list[str]
    useful: list[str]


def rights(name: str) -> Rights:
    """Return the commands of a role."""
    found = _commands(ROLES[name]) - NEVER.keys()
    return Rights(sorted(found - USEFUL.keys()), sorted(found & USEFUL.keys()))


def _commands(role: Role) -> set[str]:
    found = set(_OF_THE_CRATE)
    for name, commands in commands_of_scripts().items():
        if _matches(name, role.scripts):
            found |= commands
    for name, commands in commands_of_sources().items():
        if _matches(name, (*_ALWAYS, *role.sources)) and not _matches(name, role.without):
            found |= commands
    return found.union(*(_commands(ROLES[other]) for other in role.roles))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def commands_of_scripts() -> dict[str, set[str]]:
    """Return the commands of each script by its name."""
    paths = [path for path in (ROOT / "lua").glob("*/*.lua") if path.parent.name != "include"]
    return {f"{path.parent.name}/{path.stem}": set(_named(_with_includes(path, set()), "'")) for path in sorted(paths)}


def _with_includes(path: Path, seen: set[Path]) -> str:
    """Return a script and what it includes, without comments."""
    seen.add(path)
    text = path.read_text()
    names = re.findall(r"^ *--- @include (\w+)", text, re.MULTILINE)
    files = [file for name in names for file in (ROOT / "lua" / "include").rglob(f"{name}.lua")]
    parts = [_with_includes(file, seen) for file in files if file not in seen]
    return "\n".join([*parts, *(line for line in text.splitlines() if not line.lstrip().startswith("--"))])


#: The names that a module hands on are no commands, though some look like one: "STATES".
_NAMES: Final = re.compile(r"^__all__ = \[.*?\]", re.MULTILINE | re.DOTALL)


def commands_of_sources() -> dict[str, set[str]]:
    """Return the commands of each source file that names any, by its path."""
    paths = [*(ROOT / "src").rglob("*.rs"), *(ROOT / "python").rglob("*.py")]
    names = {str(path.relative_to(ROOT)): path for path in sorted(paths)}
    found = {
        name: set(_named(_NAMES.sub("", path.read_text().partition("#[cfg(test)]")[0]), '"'))
        for name, path in names.items()
        if path.name != "tests.rs" and not _matches(name, _LISTS)
    }
    return {name: commands for name, commands in found.items() if commands}


def _named(text: str, quote: str) -> Iterator[str]:
    """Yield the commands that a text names."""
    pair = rf"{quote}({'|'.join(_CONTAINERS)}){quote}[^A-Z{quote}]{{1,60}}{quote}([A-Z]+){quote}"
    yield from (f"{container}|{command}".lower() for container, command in re.findall(pair, text))
    words: list[str] = re.findall(rf"{quote}([A-Z]{{3,}}){quote}", re.sub(pair, "", text))
    yield from (word.lower() for word in words if word not in _ARGUMENTS)


def table(text: str) -> str:
    """Return the text of the module with the table as it should be."""
    return _between(text, "# make rights\n", "# end\n", "ROLES: Final = (\n" + "".join(map(_python, ROLES)) + ")\n")


def _python(name: str) -> str:
    got = rights(name)
    fields = [f'"{name}"', f'"{ROLES[name].summary}"', _literal(got.needed), _literal(got.useful)]
    return "    Role(\n" + "".join(f"        {field},\n" for field in fields) + "    ),\n"


def _literal(commands: Sequence[str]) -> str:
    lines = textwrap.wrap(" ".join(commands), 105, break_on_hyphens=False)
    if len(lines) == 1:
        return f'_words("{lines[0]}")'
    return (
        '_words(\n            """\n' + "".join(f"            {line}\n" for line in lines) + '            """\n        )'
    )


def page(text: str) -> str:
    """Return the text of the page about security with the tables as they should be."""
    rules = "".join(
        f"### {name}\n\n{role.summary[0].upper()}{role.summary[1:]}.\n\n```text\n{_rule(name)}\n```\n\n"
        for name, role in ROLES.items()
    )
    useful, never = (
        "".join(f"| {', '.join(commands)} | {text} |\n" for text, commands in _by_reason(words).items())
        for words in (USEFUL, NEVER)
    )
    text = _between(text, "<!-- rules -->\n\n", "<!-- end -->", rules)
    text = _between(text, "<!-- never -->\n\n", "\n<!-- end -->", f"| command | without it |\n|-|-|\n{never}")
    return _between(text, "<!-- useful -->\n\n", "\n<!-- end -->", f"| command | without it |\n|-|-|\n{useful}")


def _rule(name: str) -> str:
    got = rights(name)
    return "\n  ".join(
        textwrap.wrap(acl_rule(got.needed + got.useful, user=name, bull=name == "admin"), 110, break_on_hyphens=False)
    )


def _by_reason(words: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for command, text in words.items():
        found.setdefault(text, []).append(f"`{command.replace('|', ' ').upper()}`")
    return found


def _between(text: str, start: str, end: str, new: str) -> str:
    before, found, after = text.partition(start)
    if not found or end not in after:
        raise ValueError(f"there is no {start!r} with {end!r} after it")
    return f"{before}{start}{new}{end}{after.partition(end)[2]}"


if __name__ == "__main__":
    TABLE.write_text(table(TABLE.read_text()))
    PAGE.write_text(page(PAGE.read_text()))
