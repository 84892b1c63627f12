"""The signature of a task: which arguments come from the job, which are dependencies, and how a call becomes data."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

from bullrush.errors import DataError, InvalidOptionError, MalformedJobError
from bullrush.extending import JSON, JobCalls
from bullrush.tasks.codecs import Codec, Coder, MisfitError
from bullrush.tasks.depends import Dependency

_RESULT: Final = "returnvalue"


class Signature:
    """The compiled signature of one function. Annotations are read at first use, so that classes may follow below."""

    def __init__(self, name: str, function: Callable[..., Any], codec: Codec) -> None:
        """Read the parameters.

        Raises:
            InvalidOptionError: a parameter has no name in the data, or a dependency is not keyword-only.
        """
        self._name, self._function, self._codec = name, function, codec
        parameters = list(inspect.signature(function).parameters.values())
        self.dependencies: dict[str, Dependency] = {}
        for one in parameters:
            if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD}:
                raise InvalidOptionError(f"Task {name}: {one} has no names in the data of a job; take a list or a dict")
            if isinstance(one.default, Dependency):
                if one.kind is not one.KEYWORD_ONLY:
                    raise InvalidOptionError(f"Task {name}: {one.name} depends on the worker: put it behind a '*'")
                self.dependencies[one.name] = one.default
        given = [one for one in parameters if one.name not in self.dependencies]
        self._types = {one.name: one.annotation for one in given}
        self._required = frozenset(one.name for one in given if one.default is one.empty)
        self._known = frozenset(self._types)
        self._by_position = [one.name for one in given if one.kind is not one.KEYWORD_ONLY]
        self._unnamed = {one.name: one.default for one in given if one.kind is one.POSITIONAL_ONLY}
        self._plain = inspect.Signature(given)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, JSON]:
        """Return the data of a job for a call: only the arguments that are given, under their names.

        Raises:
            TypeError: Python would not take the call, or an argument is a dependency.
            DataError: an argument does not have its type, or has no form in JSON.
        """
        values = dict(zip(self._by_position, args, strict=False))
        values.update(kwargs)
        fits = len(values) == len(args) + len(kwargs) and self._required <= values.keys() <= self._known
        if not fits or (self._unnamed and not self._unnamed.keys().isdisjoint(kwargs)):
            raise self._wrong_call(args, kwargs)
        try:
            return self.arguments.encode(values)
        except MisfitError as error:
            raise DataError(f"{self._name}: data.{error}") from None

    def _wrong_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        for name in self.dependencies.keys() & kwargs.keys():
            return TypeError(f"{self._name}: {name} comes from the worker (Depends) and cannot be passed to a job")
        try:
            self._plain.bind(*args, **kwargs)
        except TypeError as error:
            return TypeError(f"{self._name}: {error}")
        raise AssertionError("a call that fits was refused")

    def call(self, values: dict[str, Any]) -> Any:
        """Call the function with the arguments of a job and the values of its dependencies, by name."""
        if self._unnamed:
            unnamed = [values.pop(name, default) for name, default in self._unnamed.items()]
            return self._function(*unnamed, **values)
        return self._function(**values)

    def read(self, job: JobCalls) -> dict[str, Any]:
        """Return the arguments in the data of a job; those that begin with an underscore are for middleware.

        Raises:
            MalformedJobError: the data does not fit.
        """
        try:
            return self._arguments(job.data)
        except MisfitError as error:
            raise MalformedJobError(f"Task {self._name}, job {job.id}: {error}") from None

    def check_data(self, data: JSON) -> None:
        """Refuse data that a job of this task cannot run with.

        Raises:
            DataError: the data does not fit.
        """
        try:
            self._arguments(data)
        except MisfitError as error:
            raise DataError(f"{self._name}: {error}") from None

    def _arguments(self, data: JSON) -> dict[str, Any]:
        if type(data) is not dict:
            raise MisfitError(f"data must be an object, not {type(data).__name__}")
        try:
            return self._decode(data.copy())
        except MisfitError as error:
            # Looked at only now, since most jobs have no such names.
            own = {name: value for name, value in data.items() if name in self._known or name[:1] != "_"}
            if len(own) == len(data):
                raise MisfitError(f"data.{error}") from None
        try:
            return self._decode(own)
        except MisfitError as error:
            raise MisfitError(f"data.{error}") from None

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(_annotated(self._function), include_extras=True)
        except NameError as error:
            raise InvalidOptionError(
                f"Task {self._name}: an annotation is not known when the program runs ({error}). Import the class at "
                "the top of the module, and not under TYPE_CHECKING"
            ) from error

    @cached_property
    def arguments(self) -> Coder:
        """The coder of the arguments."""
        types = {name: self._hints.get(name, written) for name, written in self._types.items()}
        return self._compiled(types, self._required)

    @cached_property
    def _decode(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return self.arguments.decode

    @cached_property
    def _result(self) -> Coder | None:
        coder = self._compiled({_RESULT: self._hints.get("return", Any)}, {_RESULT})
        return None if coder.is_identity else coder

    def _compiled(self, types: dict[str, Any], required: frozenset[str] | set[str]) -> Coder:
        try:
            return self._codec.compile(types, required)
        except TypeError as error:
            raise InvalidOptionError(f"Task {self._name}: {error}") from error

    @property
    def has_json_result(self) -> bool:
        """Whether what the function returns is JSON as it is."""
        return self._result is None

    def encode_result(self, value: Any) -> JSON:
        """Return the result of the function as JSON.

        Raises:
            DataError: it does not have its type.
        """
        if self._result is None:
            return value
        try:
            return self._result.encode({_RESULT: value})[_RESULT]
        except MisfitError as error:
            raise DataError(f"{self._name}: {error}") from None

    def decode_result(self, value: JSON) -> Any:
        """Return the result of the function as it returned it.

        Raises:
            DataError: another worker returned something else.
        """
        if self._result is None:
            return value
        try:
            return self._result.decode({_RESULT: value})[_RESULT]
        except MisfitError as error:
            raise DataError(f"{self._name}: {error}") from None

    def check(self) -> None:
        """Compile everything now: a worker does it before its first job.

        Raises:
            InvalidOptionError: an annotation is not known, or has no form in JSON.
        """
        _ = self.arguments, self._result


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what has the annotations: the function inside a decorator or a partial, the call of an object."""
    function = inspect.unwrap(function)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    return function if inspect.isroutine(function) else type(function).__call__
