"""A wall clock that tests can set, for processes of this machine: a small C library that is loaded before libc."""

import mmap
import os
import struct
import subprocess
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[3]


@lru_cache
def library() -> Path:
    """Build the library once and return its path."""
    source, built = Path(__file__).with_name("clock.c"), ROOT / "target" / "faults" / "clock.so"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        built.parent.mkdir(parents=True, exist_ok=True)
        new = built.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(new), str(source), "-ldl"], check=True)
        new.replace(built)
    return built


class Clock:
    """The wall clock of all processes that are started with its environment."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(struct.pack("q", 0))
        with open(path, "r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library()), "BULLRUSH_CLOCK": str(path)}

    def set(self, offset_ms: int) -> None:
        """Show the true time plus this, from now on."""
        self._page[:8] = struct.pack("q", offset_ms)

    def close(self) -> None:
        self._page.close()
