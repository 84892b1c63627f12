"""The data of a job as it is given on the command line: JSON, a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import orjson

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.extending import JSON

#: The help of an argument that `given_json` reads.
DATA: Final = "JSON, @FILE, or - for standard input"


def given_json(words: str) -> JSON:
    """Return the data that an argument gives.

    Raises:
        CommandError: the file cannot be read, or it is not JSON.
    """
    return parsed_json(_text(words), "the data")


def parsed_json(text: str | bytes, what: str) -> JSON:
    """Return a JSON value.

    Raises:
        CommandError: it is not JSON; ``what`` names it in the text.
    """
    try:
        return orjson.loads(text)
    except ValueError as error:
        # The text itself may be a secret.
        raise CommandError(f'{what} must be JSON, such as {{"user": 7}} ({error})', USAGE) from None


def _text(words: str) -> str | bytes:
    if words == "-":
        return sys.stdin.buffer.read()
    if not words.startswith("@"):
        return words
    try:
        return Path(words[1:]).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {words[1:]}: {error.strerror}", USAGE) from None
