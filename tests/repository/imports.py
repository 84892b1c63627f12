"""Who imports whom, read from the text of the files: of Python packages and of the Rust crate."""

import ast
import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Graph = dict[str, set[str]]


def python_imports(*packages: Path) -> Graph:
    """Return what each module of some packages imports of them, at any depth of its code, `TYPE_CHECKING` included.

    A module that hands its names on (``from package import name``) is imported itself; its own imports are arrows of
    their own.
    """
    modules = {_module(package.parent, path): path for package in packages for path in package.rglob("*.py")}
    return {name: _imported(name, path, modules) - {name} for name, path in modules.items()}


def _module(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, modules: Mapping[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level + (path.stem == "__init__") or None] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                member = f"{source}.{alias.name}"
                is_compiled = source in modules and (modules[source].parent / alias.name / "__init__.pyi").exists()
                found.add(member if member in modules or is_compiled else source)
    return found & modules.keys()


_USE = re.compile(r"^\s*(pub(?:\([a-z]+\))? )?use ([^;]+);", re.MULTILINE)
_PATH = re.compile(r"\b((?:crate|super|self|bullrush|bullrush_arrow)(?:::\w+)+)")
#: The folders of the crates by their names in a path.
_CRATES: dict[str, tuple[str, ...]] = {"bullrush": (), "bullrush_arrow": ("arrow",)}


def rust_imports(source: Path) -> Graph:
    """Return what each module of all crates uses of them, without tests and ``pub use``, which hands a name on."""
    modules: dict[tuple[str, ...], Path] = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        modules[parts[:-1] if parts[-1] == "mod" or parts[1:] == ("lib",) else parts] = path
    graph: Graph = {}
    for module, path in modules.items():
        text = re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]")[0])
        paths = [found for public, tree in _USE.findall(text) if not public for found in _leaves(tree)]
        paths += _PATH.findall(_USE.sub("", text))
        used = {_resolved(module, found.split("::"), modules.keys()) for found in paths}
        graph["::".join(module)] = {"::".join(name) for name in used if name and name != module}
    return graph


def _leaves(tree: str) -> list[str]:
    """Return the single paths of a use tree: ``a::{b, c::{d, e}}`` has three."""
    tree = "".join(tree.replace(" as ", "@").split())
    inner = re.search(r"\{([^{}]*)\}", tree)
    if inner is None:
        return [tree.partition("@")[0]]
    ends = [tree[: inner.start()] + part + tree[inner.end() :] for part in inner[1].split(",") if part]
    return [leaf for end in ends for leaf in _leaves(end)]


def _resolved(own: tuple[str, ...], path: list[str], modules: object) -> tuple[str, ...]:
    """Return the module that a path ends in; () if that is none of these crates'."""
    known: set[tuple[str, ...]] = set(modules)  # type: ignore[call-overload]
    base: tuple[str, ...]
    if path[0] == "crate":
        base, path = (own[:1] if own[:1] in {("arrow",), ("bindings",)} else ()), path[1:]
    elif path[0] in _CRATES:
        base, path = _CRATES[path[0]], path[1:]
    elif path[0] in {"super", "self"}:
        base = own
        while path and path[0] in {"super", "self"}:
            base, path = (base[:-1] if path[0] == "super" else base), path[1:]
    elif (*own, path[0]) in known:
        base = own
    else:
        return ()
    for part in path:
        if (*base, part) not in known:
            break
        base = (*base, part)
    return base


def circle(graph: Graph) -> list[str]:
    """Return modules that import each other in a circle, [] if none do."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []
