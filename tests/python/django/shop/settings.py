"""A project with one database and tasks in two queues."""

import os
from pathlib import Path

from django import VERSION

SECRET_KEY = "not a secret"
USE_TZ = True
INSTALLED_APPS = ["bullrush.django"] if VERSION >= (6,) else ["bullrush.django", "django_tasks"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ.get("SHOP_DIRECTORY", ".")) / "shop.sqlite3",
    }
}
LOGGING_CONFIG = None
TASKS = {
    "default": {
        "BACKEND": "bullrush.django.BullrushBackend",
        "QUEUES": ["default", "mails"],
        "OPTIONS": {"prefix": os.environ.get("SHOP_PREFIX", "shop")},
    }
}
# Django's default changes the time zone of the process, and so of other tests in it.
TIME_ZONE = None
