"""ArdiQ's place among the peers: it needs Python 3.12, and a driver that is still to be written. Until then it is reported as missing."""

from __future__ import annotations

import importlib.metadata


def main() -> None:
    version = importlib.metadata.version("ardiq")
    raise SystemExit(f"ardiq {version} is here, but nobody has written its driver yet")
