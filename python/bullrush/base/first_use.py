"""Names of a package that are imported when a program first uses them: others start sooner."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def at_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return what a package calls ``__getattr__``.

    Args:
        package: the name of the package.
        homes: the module of each name.
    """

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return imported
