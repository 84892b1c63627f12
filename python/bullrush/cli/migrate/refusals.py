"""Errors of the library in the words of ``bullrush migrate``: options instead of Python's arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bullrush.cli.terminal.ending import CommandError, code_of
from bullrush.errors import RedisServerError

_NOTHING: Final = (
    "there is no queue {source} at {server}: are the name, --prefix and --from right? "
    "If it is just empty, say which Bull it is: --flavor 4"
)
#: What the library says, and what it is called here. ``{source}``, ``{server}`` and ``{target}`` are filled in.
_WORDS: Final = (
    (r"^queue \S+ has no jobs that tell: .*", _NOTHING),
    (r"^this queue belongs to Bull", "the target {target} is refused: it belongs to Bull"),
    (r"^the jobs of this queue of Bull have", "the target {target} is refused, it is a queue of Bull: its jobs have"),
    (r"^(Bull and BullMQ) use this queue both", r"the target {target} is refused: \1 use it both"),
    (r" Use another prefix than .*", " Give another --to-prefix or --to-name"),
    (r": use bullrush\.Queue$", ": there is nothing to move"),
    (r'flavor="(\d)" or "(\d)"', r"--flavor \1 or \2"),
    (r'flavor="(\d)"', r"--flavor \1"),
    (r"\bmerge=True", "--merge"),
    (r"\btz=ZONE\b", "--tz ZONE"),
    (r"\bthe bridge with mirror=True", "it with --bridge --mirror"),
    (r"\blegacy_workers_stopped\b", "--legacy-workers-stopped"),
    (r", by LegacyQueue\.give_back$", ", by --give-back"),
    (r"\bby LegacyQueue\.give_back$", "by --give-back"),
    (r", or give them back$", ", or give them back by --give-back"),
    (r"entries in ext:claim still", "jobs that a migrator has claimed"),
    (r"see verify\(\)", "see --verify"),
    (r"remove the id by LegacyQueue\.remove,", "remove the id by `{here}`,"),
    (r"by Queue\.remove there or by LegacyQueue\.remove here", "by `{there}` or by `{here}`"),
    (r'by taken_ids="rename"', "by --taken-ids rename"),
)


def in_options(text: str, **places: str) -> str:
    """Return a text of the library in the words of the command line.

    Args:
        text: a reason or an error.
        places: what stands for ``source``, ``server`` and ``target``, and the commands ``there`` and ``here``.
    """
    for pattern, said in _WORDS:
        for name, place in places.items():
            # It becomes a template, in which a backslash means something.
            said = said.replace(f"{{{name}}}", place.replace("\\", r"\\"))
        text = re.sub(pattern, said, text)
    return text


@contextmanager
def naming_rule(*prefixes: str) -> Iterator[None]:
    """Let an error about a missing right say which command makes a user who has it.

    Args:
        prefixes: the prefixes of both queues.
    """
    try:
        yield
    except RedisServerError as error:
        if error.code != "NOPERM":
            raise
        words = [word for prefix in dict.fromkeys(prefixes) for word in ("--prefix", prefix)]
        command = shlex.join(["bullrush", "acl", "admin", *words])
        text = f"{str(error).removesuffix('.')}. `{command}` prints the rule of a user who may"
        raise CommandError(text, code_of(error)) from None
