"""The profile of the workers in tasks: a dict, or a function that each task calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bullrush.errors import InvalidOptionError
from bullrush.spark.draining.pickling import check_can_be_sent

#: Stands for the profile of a function, where the other options are checked. Some of them need a profile.
_UNKNOWN: Final = {"server": "unknown"}


def with_profile(options: dict[str, Any], profile: object) -> dict[str, Any]:
    """Return the options of the workers with their profile, if they have one.

    Raises:
        InvalidOptionError: it is no dict and no function, or the function cannot be sent to the executors.
    """
    if profile is None:
        return options
    if callable(profile):
        check_can_be_sent("profile", profile)
    elif not isinstance(profile, Mapping):
        raise InvalidOptionError(f"profile is a dict, or a function that returns one, not {profile!r}")
    return {**options, "profile": profile}


def on_driver(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as the driver can check them: without a profile that only tasks know."""
    return {**options, "profile": _UNKNOWN} if callable(options.get("profile")) else dict(options)


def in_task(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the profile of this task.

    Raises:
        InvalidOptionError: the function did not return a dict.
    """
    profile: Any = options.get("profile")
    if callable(profile):
        profile = profile()
        if not isinstance(profile, Mapping):
            raise InvalidOptionError(f"The function profile must return a dict, not {profile!r}")
        return {**options, "profile": dict(profile)}
    return dict(options)
