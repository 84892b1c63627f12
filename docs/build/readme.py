"""Prints the README for the package index, where its links to files of the checkout must lead to the site.

``python docs/build/readme.py > README.md`` comes before the sdist of a release is made. It needs no packages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
#: The target of a link or of a picture: not an address, and not a place on the same page.
_TARGET: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def targets(text: str) -> list[str]:
    """Return the files of the checkout to which a text leads."""
    return _TARGET.findall(text)


def for_index(text: str, addresses: Mapping[str, str]) -> str:
    """Return a README whose links lead to the site: ``docs/tasks.md`` becomes ``<site>/tasks/``.

    Args:
        text: the README.
        addresses: ``[project.urls]``.
    """

    def address(match: re.Match[str]) -> str:
        path = match[1].removeprefix("docs/")
        if path == match[1]:
            return addresses["Changelog"] if path == "CHANGELOG.md" else f"{addresses['Repository']}/blob/main/{path}"
        if path.endswith(".md"):
            path = path.removesuffix(".md").removesuffix("index") + "/"
        return f"{addresses['Documentation']}/{path.lstrip('/')}"

    return _TARGET.sub(address, text)


if __name__ == "__main__":
    import tomllib

    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    sys.stdout.write(for_index((ROOT / "README.md").read_text(), urls))
