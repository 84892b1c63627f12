"""The public members of BullMQ's classes, as its type declarations have them; inherited ones count in each class."""

import re
from functools import cache
from pathlib import Path
from typing import Final

_MODULES: Final = Path(__file__).parent / "node_modules"
_CLASS: Final = re.compile(r"^export declare class (\w+)(.*?)\{$(.*?)^\}", re.DOTALL | re.MULTILINE)
_GENERIC: Final = re.compile(r"<[^<>]*>")
_BASE: Final = re.compile(r" extends (\w+)")
#: A member stands alone on its level; what is deeper belongs to its type.
_MEMBER: Final = re.compile(
    r"^    (?!private |protected )(?:static |readonly |abstract )*(?:(get|set) )?(\w+)[?]?[(<:]", re.MULTILINE
)
#: What the classes have from Node's `EventEmitter`, as far as docs/parity.md has it.
_OF_EMITTER: Final = frozenset({"on", "once", "off", "emit"})


@cache
def _classes(library: str) -> dict[str, tuple[str | None, str]]:
    """Return the base and the body of each class of a BullMQ."""
    texts = (page.read_text() for page in sorted((_MODULES / library / "dist" / "esm" / "classes").glob("*.d.ts")))
    return {name: (_base(head), body) for text in texts for name, head, body in _CLASS.findall(text)}


def _base(head: str) -> str | None:
    """Return what a class extends, from what stands between its name and its body."""
    while (simpler := _GENERIC.sub("", head.replace("=>", ""))) != head:
        head = simpler
    found = _BASE.search(head)
    return found and found[1]


def members(library: str, name: str) -> set[str]:
    """Return the public members of a class; a setter is ``name (set)``."""
    if name not in _classes(library):
        return set(_OF_EMITTER)  # Node's own
    base, body = _classes(library)[name]
    own = {f"{member} (set)" if kind == "set" else member for kind, member in _MEMBER.findall(body)}
    return own | (members(library, base) if base else set())
