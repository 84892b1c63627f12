"""The entry of INSTALLED_APPS."""

from __future__ import annotations

from django.apps import AppConfig


class BullrushConfig(AppConfig):  # type: ignore[misc]
    """``INSTALLED_APPS = ["bullrush.django", ...]`` adds the command ``bullrush_worker``."""

    name = "bullrush.django"
    # The default would be "django".
    label = "bullrush"
