"""The arguments of a task and the data of its job: ``mail.enqueue(7, lang="de")`` is ``{"user_id": 7, "lang": "de"}``.

The names are what a service in another language reads and writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bullrush.django.framework import normalize_json
from bullrush.extending import JSON


@lru_cache(maxsize=4096)
def _parameters(function: Callable[..., Any], takes_context: bool) -> inspect.Signature:
    """Return the parameters that come from the job: the context is the worker's."""
    signature = inspect.signature(function)
    given = list(signature.parameters.values())
    return signature.replace(parameters=given[1:] if takes_context else given)


def to_data(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, JSON]:
    """Return the data of a job that calls a task: only the arguments that are given, under their names.

    Raises:
        TypeError: Python would not take the call, or an argument is not JSON.
        ValueError: an argument is bytes that are no text.
    """
    signature = _parameters(task.func, task.takes_context)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{task.module_path}: {error}") from None
    data = dict(given)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            further = data.pop(name, {})
            if twice := sorted(further.keys() & data.keys()):
                raise TypeError(f"{task.module_path}: the job cannot have two arguments {twice[0]!r}")
            data.update(further)
    return {name: normalize_json(value) for name, value in data.items()}


def to_call(task: Any, data: object) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the keyword arguments of the call that the data of a job describes.

    All are keyword arguments, but for those that Python takes by position only.

    Raises:
        TypeError: the data is not an object, or the task does not take it.
    """
    if not isinstance(data, dict):
        raise TypeError(f"the data must be an object with the names of the arguments, not {type(data).__name__}")
    signature = _parameters(task.func, task.takes_context)
    parameters = signature.parameters.values()
    kwargs = dict(data)
    rest = next((kwargs.pop(one.name, None) for one in parameters if one.kind is one.VAR_POSITIONAL), None)
    if rest is not None and not isinstance(rest, list):
        raise TypeError("the further positional arguments must be a list")
    args: list[Any] = []
    for one in parameters:
        by_position = one.kind is one.POSITIONAL_ONLY or (rest and one.kind is one.POSITIONAL_OR_KEYWORD)
        if by_position and one.name in kwargs:
            args.append(kwargs.pop(one.name))
    args += rest or ()
    signature.bind(*args, **kwargs)
    return args, kwargs
