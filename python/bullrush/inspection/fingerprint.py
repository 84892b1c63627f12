"""Which failures are one failure: the same error from the same place, whatever the values in its text."""

from __future__ import annotations

import re
from hashlib import blake2s
from typing import Final, NamedTuple

#: Where code lies that the user did not write.
_FOREIGN: Final = re.compile(
    r"site-packages|dist-packages|/lib/python\d|[\\/]Lib[\\/]|<frozen |<string>|node_modules|node:|[\\/]bullrush[\\/]|"
    r"internal[\\/]"
)
_PYTHON_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"]+)", line \d+, in (?P<function>.+)$')
_NODE_FRAME: Final = re.compile(r"^\s*at (?:(?P<function>.+?) \()?(?P<file>[^()\s]+?):\d+:\d+\)?$")
#: Other errors of the same chain stand before the last one.
_PYTHON_START: Final = "Traceback (most recent call last):"
#: The type of an error at the beginning of a line, with its module in Python.
_TYPE: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*(?P<type>[A-Za-z_]\w*)(?: \[\w+\])?(?::\s*(?P<text>.*))?$", re.DOTALL)
#: Errors of Node that say little alone: then their text counts.
_GENERAL: Final = frozenset(
    {"", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"}
)
_NAMELESS: Final = "<anonymous>"
_ASYNC: Final = re.compile(r"^(?:async |new |Object\.|process\.|Worker\.|Queue\.)+")
#: What differs between failures of one kind, from the longest form to the shortest.
_VALUES: Final = (
    (re.compile(r"(?s)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`"), "'*'"),
    (re.compile(r"(?<=: )/\S+/"), "/*/"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE), "<url>"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "<mail>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"(?<!\w)(?:[A-Za-z]:)?(?:[\\/][\w.@~-]+){2,}"), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"[-+]?\d[\d.,:_-]*(?:e[-+]?\d+)?", re.IGNORECASE), "<n>"),
)
_LONGEST: Final = 300


class Fingerprint(NamedTuple):
    """What failures of one kind have in common.

    Attributes:
        id: a short text; equal for failures of one kind.
        label: what a human reads: the error with its values left out, and where it came from.
        error: the type of the error; "" if it is not known.
        place: the function of the user, with its file, such as ``charge (billing.py)``; "" if it is not known.
    """

    id: str
    label: str
    error: str
    place: str


class _Frame(NamedTuple):
    file: str
    function: str
    code: str


def fingerprint(reason: str, stack: str) -> Fingerprint:
    """Return what tells a failure from others.

    A failure is known by the type of its error and the place in the user's code that it came from: of Python the
    function and the text of the line, of Node the function. Numbers of lines, paths, threads and event loops do not
    count. Of Node the text of a general error such as `TypeError` counts, without its values.

    Args:
        reason: the job's failed reason.
        stack: its last stack trace; "" if there is none.
    """
    error, text = _error_of(reason, stack)
    frame = _place_of(stack)
    shown = _without_values(text)
    place = "" if frame is None else f"{frame.function} ({_base(frame.file)})"
    code = "" if frame is None else frame.code
    parts = [error, place, code or (shown if frame is None or error in _GENERAL else "")]
    digest = blake2s("\0".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()
    label = ": ".join(part for part in (error, shown) if part) or "an error without a text"
    return Fingerprint(digest, f"{label} in {place}" if place else label, error, place)


def _error_of(reason: str, stack: str) -> tuple[str, str]:
    """Return the type of the error, "" if it is not known, and its text."""
    for line in _lines_of_errors(reason, stack):
        found = _TYPE.match(line)
        if found is not None and (found["text"] or "") in (reason, reason.split("\n", 1)[0]):
            return found["type"], reason
    return "", reason


def _lines_of_errors(reason: str, stack: str) -> list[str]:
    """Return the lines in which a stack trace may name its error: the last ones in Python, the first one in Node."""
    lines = stack.splitlines()
    if not lines:
        return []
    # The text of an error may have several lines.
    first = reason.split("\n", 1)[0]
    ends = [line for line in lines if not line.startswith((" ", "\t")) and line.endswith(first)]
    return [*reversed(ends), lines[0]]


def _place_of(stack: str) -> _Frame | None:
    """Return the innermost frame of the user's own code, if it can be a function with a name; None without one."""
    frames = _python_frames(stack) if _PYTHON_START in stack else _node_frames(stack)
    own = [frame for frame in frames if not _FOREIGN.search(frame.file)]
    return next((frame for frame in own if frame.function != _NAMELESS), own[0] if own else None)


def _python_frames(stack: str) -> list[_Frame]:
    """Return the frames, the innermost first."""
    lines = stack.rpartition(_PYTHON_START)[2].splitlines()
    frames = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if (found := _PYTHON_FRAME.match(line)) is not None:
            code = "" if _PYTHON_FRAME.match(after) or not after.startswith("    ") else after.strip()
            frames.append(_Frame(found["file"], found["function"], code))
    return frames[::-1]


def _node_frames(stack: str) -> list[_Frame]:
    """Return the frames, the innermost first."""
    found = (_NODE_FRAME.match(line) for line in stack.splitlines())
    return [
        _Frame(frame["file"].removeprefix("file://"), _ASYNC.sub("", frame["function"] or _NAMELESS), "")
        for frame in found
        if frame is not None
    ]


def _without_values(text: str) -> str:
    line = text.split("\n", 1)[0][:_LONGEST]
    for values, instead in _VALUES:
        line = values.sub(instead, line)
    return line.strip()


def _base(path: str) -> str:
    return re.split(r"[\\/]", path)[-1]
