"""BR301: what embedded servers left behind on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import gettempdir

from bullrush.doctor.finding import Finding
from bullrush.embedded import is_left


def embedded_servers() -> list[Finding]:
    """BR301: directories in the folder for temporary files whose server was killed together with its owner."""
    if not hasattr(os, "getuid"):
        return []
    left = _left()
    if not left:
        return []
    return [Finding("BR301", f"{len(left):,} in {gettempdir()}", ids=left)]


def _left() -> tuple[str, ...]:
    folders = sorted(Path(gettempdir()).glob("bullrush-*"))
    return tuple(str(folder) for folder in folders if _is_left(folder))


def _is_left(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid() and is_left(folder)
    except OSError:  # it has just ended
        return False
