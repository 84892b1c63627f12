"""ArdiQ's place among the peers: it is asked for, and reported as missing as long as its package index does not have it."""

from __future__ import annotations

import importlib.metadata


def main() -> None:
    version = importlib.metadata.version("ardiq")
    raise SystemExit(f"ardiq {version} is here, but nobody has written its driver yet")
