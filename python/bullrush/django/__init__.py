"""Django: a backend for its tasks, `BullrushBackend`, and ``manage.py bullrush_worker``, which runs them.

It works with ``django.tasks`` of Django 6, and with the package django-tasks on older versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bullrush.django.backend import BullrushBackend

__all__ = ["BullrushBackend"]


def __getattr__(name: str) -> object:
    # At first use: Django imports this package while it reads INSTALLED_APPS.
    if name == "BullrushBackend":
        from bullrush.django.backend import BullrushBackend

        return BullrushBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
