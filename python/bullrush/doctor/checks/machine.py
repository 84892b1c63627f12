"""BR301: what embedded servers left behind on this machine."""

from __future__ import annotations

from bullrush.doctor.finding import Finding
from bullrush.embedded import left_directories


def embedded_servers() -> list[Finding]:
    """BR301: directories in the folder for temporary files whose server was killed together with its owner."""
    left = left_directories()
    if not left:
        return []
    return [Finding("BR301", f"{len(left):,} in {left[0].parent}", ids=tuple(map(str, left)))]
