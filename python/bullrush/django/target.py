"""What ``manage.py bullrush_worker`` runs, as a target of ``bullrush worker``: its processes import this module."""

from __future__ import annotations

import django

# Before the import of a backend, which needs the settings.
django.setup()

from bullrush.django.workers import make_workers  # noqa: E402
from bullrush.worker import Worker  # noqa: E402

workers: list[Worker] = make_workers()
