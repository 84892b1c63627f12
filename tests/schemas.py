"""Checks jobs and events, as Redis has them, against the published JSON schemas."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"


def _content(validator: Any, schema: Any, text: Any, _whole: Any) -> Iterator[ValidationError]:
    """Check a JSON text: by the standard, ``contentSchema`` is only a note."""
    try:
        value = json.loads(text)
    except ValueError:
        yield ValidationError(f"{text!r} is not JSON")
    else:
        yield from validator.descend(value, schema)


@cache
def validator(name: str) -> Any:
    """Return the validator of a schema: ``job.json``, ``job-options.json`` or ``event.json``."""
    schemas = {path.name: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
    registry: Any = Registry().with_resources((each, Resource.from_contents(found)) for each, found in schemas.items())
    return extend(Draft202012Validator, {"contentSchema": _content})(schemas[name], registry=registry)


def problems(name: str, value: Any) -> list[str]:
    """Return what is wrong with a value, with the path."""
    found = []
    for error in validator(name).iter_errors(value):
        # The most telling one of many alternatives.
        deepest = max([error, *(error.context or [])], key=lambda one: len(one.path))
        found.append(f"{'/'.join(map(str, deepest.absolute_path))}: {deepest.message}")
    return found
