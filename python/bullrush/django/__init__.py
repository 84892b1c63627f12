"""Django: a backend for its tasks, `BullrushBackend`, and ``manage.py bullrush_worker``, which runs them.

`authenticate` tells the dashboard who is logged in.

The backend works with ``django.tasks`` of Django 6, and with the package django-tasks on older versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bullrush.django.backend import BullrushBackend
    from bullrush.django.sessions import authenticate

__all__ = ["BullrushBackend", "authenticate"]


def __getattr__(name: str) -> object:
    # At first use: Django imports this package while it reads INSTALLED_APPS.
    if name == "BullrushBackend":
        from bullrush.django.backend import BullrushBackend

        return BullrushBackend
    if name == "authenticate":
        from bullrush.django.sessions import authenticate

        return authenticate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
