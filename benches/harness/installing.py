"""Installs the peers for ``--all``: each in its own environment, since their requirements conflict."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benches.harness.peer import ROOT

#: What pip installs for each peer: the newest release.
PYTHON_PEERS = {
    "rq": ("rq",),
    "celery": ("celery[redis]",),
    "dramatiq": ("dramatiq[redis]",),
    "huey": ("huey", "redis"),
    "arq": ("arq",),
    "saq": ("saq[redis]", "typing_extensions"),
    "streaq": ("streaq",),
    "taskiq": ("taskiq", "taskiq-redis"),
    "ardiq": ("ardiq", "redis"),
    "chasquimq": ("chasquimq",),
}
#: Peers that need a newer Python than bullrush does.
_NEWER = {"ardiq": (3, 12)}
HOME = ROOT / "target" / "peers"
RUST = HOME / "rust" / "release" / "bullmq-rust-peer"
GO = HOME / "asynq-peer"


def python_of(peer: str) -> Path:
    """Return the interpreter that a peer runs in, whether or not it is there."""
    return HOME / peer / "bin" / "python"


def install_peers(progress: Callable[[str], None]) -> None:
    """Install missing peers. A peer that cannot be installed is reported as missing when it is measured."""
    HOME.mkdir(parents=True, exist_ok=True)
    for peer, packages in PYTHON_PEERS.items():
        interpreter = _interpreter(_NEWER.get(peer, (3, 10)))
        if interpreter and not python_of(peer).exists():
            progress(f"installing {peer}")
            _install_python(interpreter, peer, packages)
    if shutil.which("cargo") and not RUST.exists():
        progress("building the official Rust crate's driver (one or two minutes)")
        manifest = ROOT / "benches" / "peers" / "rust" / "Cargo.toml"
        cargo = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(manifest)]
        _run([*cargo, "--target-dir", str(HOME / "rust")])
    if shutil.which("go") and not GO.exists():
        progress("building the driver of Asynq")
        _run(["go", "build", "-o", str(GO), "."], ROOT / "benches" / "peers" / "asynq")


def _interpreter(version: tuple[int, int]) -> str | None:
    """Return a Python that is new enough: this one, one on PATH, or one of pyenv."""
    if sys.version_info >= version:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(14, version[1] - 1, -1)]
    kept = [str(path) for name in names for path in Path.home().glob(f".pyenv/versions/*/bin/{name}")]
    return next((found for name in (*names, *kept) if (found := shutil.which(name)) and _starts(found)), None)


def _starts(interpreter: str) -> bool:
    """Return whether it runs: a name that pyenv puts on PATH may have no Python."""
    return subprocess.run([interpreter, "-c", ""], check=False, capture_output=True).returncode == 0


def _install_python(interpreter: str, peer: str, packages: tuple[str, ...]) -> None:
    home = HOME / peer
    made = _run([interpreter, "-m", "venv", str(home)])
    pip = [str(python_of(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not (made and _run([*pip, *packages])):
        shutil.rmtree(home, ignore_errors=True)


def _run(command: list[str], folder: Path = ROOT) -> bool:
    return subprocess.run(command, cwd=folder, check=False, stdin=subprocess.DEVNULL).returncode == 0
