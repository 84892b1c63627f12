"""``--reload``: tells when a Python file below the current directory has changed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from bullrush.cli.terminal.ending import USAGE, CommandError


def watch(on_change: Callable[[str], None]) -> None:
    """Watch on a thread of its own.

    Args:
        on_change: gets the path of a file that has changed, once per burst of changes.

    Raises:
        CommandError: the package watchfiles is missing.
    """
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise CommandError("--reload needs watchfiles: pip install 'bullrush[reload]'", USAGE) from None

    # It would say at INFO that something has changed; the caller says what.
    logging.getLogger("watchfiles").setLevel(logging.WARNING)

    def run() -> None:
        for changes in watchfiles.watch(os.getcwd(), watch_filter=watchfiles.PythonFilter(), debounce=200):
            on_change(min(path for _, path in changes))

    threading.Thread(target=run, name="bullrush-reload", daemon=True).start()
