"""A hook of mkdocs: the page of the changelog is CHANGELOG.md, whose links lead from the root of the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Return the text of a page."""
    return for_site((ROOT / "CHANGELOG.md").read_text()) if page.file.src_uri == "changelog.md" else markdown


def for_site(text: str) -> str:
    """Return a text with links to pages of ``docs`` that lead from one of these pages."""
    return text.replace("](docs/", "](")
