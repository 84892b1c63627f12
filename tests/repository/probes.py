"""Every fact has one home: ``python -m tests.repository.probes`` adds an option, a key and an error to a copy.

Each is as many edits as CONTRIBUTING says, and everything that follows from it must follow by itself. The core is
compiled twice: first with what only the core knows, which must be an error of the first queue and worker, then the
lines of Python are added.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class Edit(NamedTuple):
    """A text that is put behind another one, which a file has once."""

    file: str
    behind: str
    text: str

    def make(self, tree: Path) -> None:
        """Change the file."""
        path = tree / self.file
        text = path.read_text()
        assert text.count(self.behind) == 1, f"{self.file} has {self.behind!r} {text.count(self.behind)} times"
        path.write_text(text.replace(self.behind, self.behind + self.text))


def _option(name: str) -> str:
    line = 'Option(checks.at_least(1), default=7, bullmq=None, doc="a probe of the tests.")'
    return f"\n    {name}: Annotated[int, {line}]\n"


#: What the core gets: an option of a worker and of a queue, a key, and the text of a result code.
OF_THE_CORE: Final = (
    Edit("src/worker/options.rs", "    pub fan_out: bool,\n", "    pub probe_worker: u64,\n"),
    Edit(
        "src/bindings/queue/mod.rs", "pub struct GivenOptions {\n", "    #[allow(dead_code)]\n    probe_queue: u64,\n"
    ),
    Edit(
        "src/protocol/key_table.rs",
        "pub const KEYS: &[Key] = &[\n",
        '    Key { name: "ext:probe", kind: "hash", end: End::Deleted, content: "a probe", writer: "a test", '
        'life: "a day", ..OURS },\n',
    ),
    Edit("src/error.rs", "let message = match code {\n", '            -77 => format!("Probe of {id}. {command}"),\n'),
)
#: What Python gets.
OF_PYTHON: Final = (
    Edit(
        "python/bullrush/worker/options.py",
        '"""Options of a worker. Durations are milliseconds or timedeltas."""\n',
        _option("probe_python") + _option("probe_worker"),
    ),
    Edit("python/bullrush/queue/queue.py", '    """Options of a queue object."""\n', _option("probe_queue")),
    Edit(
        "python/bullrush/errors.py",
        'class JobNotFoundError(ResultCodeError):\n    """The job does not exist."""\n\n    code = -1\n',
        '\n\nclass ProbeError(ResultCodeError):\n    """A probe."""\n\n    code = -77\n',
    ),
)

#: Both must say which names differ.
ONLY_THE_CORE: Final = """
from bullrush import Queue, Worker, errors
for make in (lambda: Worker("probe", lambda job: None), lambda: Queue("probe", url="redis://127.0.0.1:1")):
    try:
        make()
    except (AttributeError, errors.InvalidOptionError) as error:
        assert "probe_" in str(error), error
    else:
        raise AssertionError("a name that only the core knows is no error")
"""

#: What must follow from the edits.
ALL_FOLLOWS: Final = """
import inspect
from bullrush import Queue, Worker, errors
from bullrush._core import QUEUE_KEYS, QUEUE_OPTIONS, WORKER_OPTIONS
from bullrush.doctor import Doctor
from bullrush.embedded import EmbeddedRedis
from docs.build import configuration
from docs.build import keys

assert "probe_worker" in WORKER_OPTIONS and "probe_python" not in WORKER_OPTIONS and "probe_queue" in QUEUE_OPTIONS
for kind, name in ((Worker, "probe_python"), (Worker, "probe_worker"), (Queue, "probe_queue")):
    assert inspect.signature(kind).parameters[name].annotation == "int", name
    row = configuration.page(f"<!-- options: {kind.__name__}Options -->\\n\\n\\n<!-- end -->")
    assert f"| `{name}` | int | - | 7 | - | A probe of the tests |" in row, row
    handle = lambda **given: kind(*("probe",) if kind is Queue else ("probe", print), **given)
    handle(**{name: 3})
    for wrong, error in (({name: 0}, "must be greater than 0"), ({name + "x": 1}, f"Did you mean {name!r}?")):
        try:
            handle(**wrong)
        except errors.InvalidOptionError as raised:
            assert error in str(raised), raised
        else:
            raise AssertionError(wrong)

assert any(key.name == "ext:probe" for key in QUEUE_KEYS)
assert "| `ext:probe` | hash | a probe |" in keys.page("<!-- keys -->\\n\\n\\n<!-- end -->")
assert errors.from_code(-77, "x").__class__ is errors.ProbeError

with EmbeddedRedis() as server, Queue("probe", url=server.url) as queue:
    import redis
    client = redis.Redis.from_url(server.url)
    queue.add("a")
    try:
        queue.add("a", job_id="ext:probe")
    except errors.InvalidOptionError:
        pass
    else:
        raise AssertionError("the name of the key is not reserved")
    client.lpush("bull:probe:ext:probe", "x")
    findings = Doctor(server.url).examine(["probe"]).findings
    assert any("ext:probe" in str(finding) for finding in findings), findings
    client.delete("bull:probe:ext:probe")
    client.hset("bull:probe:ext:probe", "x", 1)
    queue.obliterate()
    assert not client.exists("bull:probe:ext:probe")
print("all that follows from an option, a key and an error has followed")
"""


def main() -> None:
    """Make the copy, compile it and look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "target" / "probes", help="where the core is compiled")
    target: Path = parser.parse_args().target
    tree = target / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for edit in OF_THE_CORE:
        edit.make(tree)
    _compile(tree, target)
    _run(tree, ONLY_THE_CORE)
    for edit in OF_PYTHON:
        edit.make(tree)
    _run(tree, ALL_FOLLOWS)


def _compile(tree: Path, target: Path) -> None:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable}
    command = ["cargo", "build", "--package", "bullrush-python", "--locked", "--quiet"]
    subprocess.run(command, cwd=tree, env=environment, check=True)
    built = next(path for path in (target / "debug").glob("libbullrush_python.*") if path.suffix in {".so", ".dylib"})
    shutil.copy2(built, tree / "python" / "bullrush" / "_core.abi3.so")


def _run(tree: Path, program: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'python'}{os.pathsep}{tree}"}
    subprocess.run([sys.executable, "-c", program], cwd=tree, env=environment, check=True)


if __name__ == "__main__":
    main()
