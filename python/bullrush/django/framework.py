"""Django's tasks: the module ``django.tasks`` of Django 6, or the package django-tasks. Both have the same classes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def _found() -> str:
    # A project that lists the package uses its classes, also with Django 6.
    if any(app.partition(".")[0] == "django_tasks" for app in settings.INSTALLED_APPS):
        return "django_tasks"
    for name in ("django.tasks", "django_tasks"):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
        else:
            return name
    raise ImproperlyConfigured(
        'Django has tasks since 6.0; before, pip install django-tasks and add "django_tasks" to INSTALLED_APPS'
    )


def _member(*places: str) -> Any:
    """Return the first ``module:name`` that exists: a few names differ between the two."""
    for module, name in (place.split(":") for place in places):
        try:
            return getattr(import_module(module), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise ImproperlyConfigured(
        f"{_NAME} has no {' or '.join(places)}: bullrush needs Django >= 6.0 or django-tasks >= 0.12"
    )


_NAME: Final = _found()

Task: Any = _member(f"{_NAME}.base:Task")
TaskContext: Any = _member(f"{_NAME}.base:TaskContext")
TaskError: Any = _member(f"{_NAME}.base:TaskError")
TaskResult: Any = _member(f"{_NAME}.base:TaskResult")
TaskResultStatus: Any = _member(f"{_NAME}.base:TaskResultStatus")
BaseTaskBackend: Any = _member(f"{_NAME}.backends.base:BaseTaskBackend")
task_backends: Any = _member(f"{_NAME}:task_backends")

InvalidTask: Any = _member(f"{_NAME}.exceptions:InvalidTask", f"{_NAME}.exceptions:InvalidTaskError")
InvalidTaskBackend: Any = _member(
    f"{_NAME}.exceptions:InvalidTaskBackend", f"{_NAME}.exceptions:InvalidTaskBackendError"
)
TaskResultDoesNotExist: Any = _member(f"{_NAME}.exceptions:TaskResultDoesNotExist")

task_enqueued: Any = _member(f"{_NAME}.signals:task_enqueued")
task_started: Any = _member(f"{_NAME}.signals:task_started")
task_finished: Any = _member(f"{_NAME}.signals:task_finished")

normalize_json: Any = _member(f"{_NAME}.utils:normalize_json", "django.utils.json:normalize_json")
