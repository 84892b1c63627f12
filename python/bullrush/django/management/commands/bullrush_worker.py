"""``manage.py bullrush_worker``: runs the tasks of the setting ``TASKS``."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from bullrush.cli import guarded, load

_TARGET: Final = "bullrush.django.target:workers"


class Command(BaseCommand):  # type: ignore[misc]
    """``bullrush worker`` for the queues in ``TASKS``, with the same options."""

    help = "Runs the tasks of the setting TASKS. The options are those of 'bullrush worker'."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options of ``bullrush worker``, but for the address of Redis, which the settings have."""
        load("worker").add_options(parser)

    def handle(self, **options: Any) -> None:
        """Run the workers until a signal comes, and end with the exit code of ``bullrush worker``."""
        # Processes of -p and --reload import what this one can import.
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        given = Namespace(**{"url": None, "prefix": None, **options}, targets=[_TARGET])
        sys.exit(guarded(lambda: load("worker").run(given), "worker"))
