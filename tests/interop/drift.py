"""Whether npm has a newer BullMQ than the peers of the tests: ``make drift``.

Prints each newer version with its new, gone and changed scripts, and ends with 1 if there is one.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .peers import NEWEST_5, NEWEST_6
from .scripts_lock import changes, hashes

WATCHED = (NEWEST_5, NEWEST_6)

#: Gets a version; returns the hashes of its scripts.
ReadScripts = Callable[[str], Mapping[str, str]]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def newest_of_each_major(versions: Iterable[str]) -> dict[int, str]:
    """Return the newest release of each major version, without those that are only for trying out."""
    released = sorted((version for version in versions if re.fullmatch(r"\d+\.\d+\.\d+", version)), key=_numbers)
    return {_numbers(version)[0]: version for version in released}


def news(locks: Iterable[Mapping[str, Any]], newest: Mapping[int, str], scripts_of: ReadScripts) -> list[str]:
    """Return what is newer than the locks: a line per version, followed by one per script of it that differs.

    Args:
        locks: the pinned versions, one per major version that is followed.
        newest: the newest version of each major one.
        scripts_of: how to get the scripts of one of them.
    """
    pinned = {_numbers(lock["version"])[0]: lock for lock in locks}
    lines = []
    for major, version in sorted(newest.items()):
        if major > max(pinned):
            lines.append(f"BullMQ {version} is there, and no peer of the tests has the major version {major}")
        elif major in pinned and _numbers(version) > _numbers(pinned[major]["version"]):
            lines.append(f"BullMQ {version} is newer than the pinned {pinned[major]['version']}")
            lines += [f"  {line}" for line in changes(pinned[major]["scripts"], scripts_of(version))]
    return lines


def _npm(*words: str) -> str:
    return subprocess.run(["npm", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def _published_scripts(version: str) -> Mapping[str, str]:
    with TemporaryDirectory() as folder:
        _npm("pack", f"bullmq@{version}", "--silent", "--pack-destination", folder)
        [archive] = Path(folder).glob("*.tgz")
        subprocess.run(["tar", "-xzf", str(archive), "-C", folder], check=True)
        return hashes(Path(folder) / "package")


def main() -> int:
    """Return the exit code."""
    newest = newest_of_each_major(json.loads(_npm("view", "bullmq", "versions", "--json")))
    lines = news([peer.lock for peer in WATCHED], newest, _published_scripts)
    print("\n".join(lines) or f"npm has nothing newer than {' and '.join(peer.version for peer in WATCHED)}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
