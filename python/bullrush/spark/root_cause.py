"""Why the tasks of a call failed."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: The lines that have the reason, the most telling first: an error of ours at the end of a Python traceback, any other
#: error there, a Python that cannot even start, what Spark says of its job.
_LINES: Final = (
    re.compile(r"^bullrush\.errors\.(?P<kind>\w+): (?P<text>.*)$", re.MULTILINE),
    re.compile(
        r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)+(?P<kind>[A-Za-z_][\w.]*): (?P<text>.*)$", re.MULTILINE
    ),
    re.compile(r"^.*: (?P<kind>)(?P<text>No module named .*)$", re.MULTILINE),
    re.compile(r"(?P<kind>\w+): (?P<text>Job aborted due to stage failure: .*)$", re.MULTILINE),
)
_LONGEST: Final = 500
_NO_MODULE: Final = ("ModuleNotFoundError", "ImportError", "PySparkImportError")
_OTHER_PYTHON: Final = ". The executors have another Python than the driver: set PYSPARK_PYTHON, or install it there"


class Reason(NamedTuple):
    """Why tasks failed. As a text it is one line, with what to do if that is known.

    Attributes:
        kind: the name of the error.
        text: its text.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        hint = _OTHER_PYTHON if self.kind.rpartition(".")[2] in _NO_MODULE else ""
        return f"{self.kind}: {self.text}{hint}"


def root_cause(error: Exception) -> Reason:
    """Find the reason in the text of an error of Spark, which also has tracebacks of Java and Python."""
    text = str(error)
    for line in _LINES:
        if found := list(line.finditer(text)):
            return Reason(found[-1]["kind"] or "ModuleNotFoundError", found[-1]["text"][:_LONGEST])
    return Reason(type(error).__name__, text.strip().partition("\n")[0][:_LONGEST])
