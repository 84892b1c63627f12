"""An exception of a handler process, as it comes to the process of the worker."""

from __future__ import annotations

import contextlib
import io
import pickle
from typing import Any, NamedTuple

from bullrush.job.failure import INDESCRIBABLE, STACK_ATTRIBUTE, describe


class Raised(NamedTuple):
    """An exception, as it is sent.

    Attributes:
        pickled: all of it; None if it cannot be made again by its constructor, as one that takes other arguments than
            those that it gives to `Exception`.
        base: its class, pickled by name; if that cannot be imported, as one of a function, the next one above it.
        names: the names of the classes below `base`, the newest one first.
        state: its arguments, and those of its attributes that can be pickled.
        text: what becomes the reason of the failure.
        stack: where it was raised.
    """

    pickled: bytes | None
    base: bytes
    names: tuple[str, ...]
    state: bytes
    text: str
    stack: str


def raised(error: BaseException) -> Raised:
    """Return an exception as it is sent."""
    try:
        failure = describe(error, retry=True)
    except BaseException:  # reading an exception runs user code
        return Raised(None, pickle.dumps(Exception), (), pickle.dumps(((), {})), INDESCRIBABLE, "")
    base, names = pickle.dumps(Exception), []
    for kind in type(error).__mro__:
        if not issubclass(kind, BaseException):
            continue
        if (pickled := _pickled(kind)) is not None:
            base = pickled
            break
        names.append(kind.__name__)
    return Raised(_pickled(error), base, tuple(names), _state(error), failure.reason, failure.stack)


def rebuilt(sent: Raised) -> BaseException:
    """Return an exception with the classes, the text and the stack of one that was sent."""
    error = _rebuilt(sent)
    with contextlib.suppress(Exception):  # an exception may refuse attributes
        setattr(error, STACK_ATTRIBUTE, sent.stack)
    return error


def _rebuilt(sent: Raised) -> BaseException:
    if sent.pickled is not None:
        with contextlib.suppress(Exception):
            error: BaseException = _loads(sent.pickled)
            return error
    with contextlib.suppress(Exception):
        error = _without_constructor(_class_of(sent, _loads(sent.base)), sent)
        if describe(error, retry=True).reason == sent.text:
            return error
        # Its text needs something that was not sent.
        return _without_constructor(type(type(error).__name__, (type(error),), {"__str__": lambda _: sent.text}), sent)
    return _class_of(sent, Exception)(sent.text)


def _class_of(sent: Raised, kind: type[BaseException]) -> type[BaseException]:
    for name in reversed(sent.names):
        kind = type(name, (kind,), {})
    return kind


def _without_constructor(kind: type[BaseException], sent: Raised) -> BaseException:
    arguments, attributes = _loads(sent.state)
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(attributes)
    return error


def _pickled(value: Any) -> bytes | None:
    """Return a value as a pickle; None if there is none that can be loaded again."""
    try:
        pickled = pickle.dumps(value)
        pickle.loads(pickled)
    except BaseException:  # pickling runs user code
        return None
    return pickled


def _state(error: BaseException) -> bytes:
    arguments = error.args if _pickled(error.args) else ()
    attributes = {name: value for name, value in vars(error).items() if _pickled(value) is not None}
    return pickle.dumps((arguments, attributes))


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # So the program is called in a process that has imported it again.
        return super().find_class("__main__" if module == "__mp_main__" else module, name)


def _loads(pickled: bytes) -> Any:
    return _Unpickler(io.BytesIO(pickled)).load()
