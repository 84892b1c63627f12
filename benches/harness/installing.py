"""Installs the peers for ``--all``: each in an environment of its own, since what they need clashes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benches.harness.peer import ROOT

#: What pip installs for each peer: the newest there is, as its users get it.
PYTHON_PEERS = {
    "rq": ("rq",),
    "celery": ("celery[redis]",),
    "dramatiq": ("dramatiq[redis]",),
    "huey": ("huey", "redis"),
    "arq": ("arq",),
    "saq": ("saq[redis]",),
    "streaq": ("streaq",),
    "taskiq": ("taskiq", "taskiq-redis"),
    "ardiq": ("ardiq",),
    "chasquimq": ("chasquimq",),
}
HOME = ROOT / "target" / "peers"
RUST = HOME / "rust" / "release" / "bullmq-rust-peer"
GO = HOME / "asynq-peer"


def python_of(peer: str) -> Path:
    """Return the interpreter that a peer runs in, whether or not it is there."""
    return HOME / peer / "bin" / "python"


def install_peers(progress: Callable[[str], None]) -> None:
    """Install what is missing. What cannot be installed is found missing when it is asked, and reported there."""
    HOME.mkdir(parents=True, exist_ok=True)
    for peer, packages in PYTHON_PEERS.items():
        if not python_of(peer).exists():
            progress(f"installing {peer}")
            _install_python(peer, packages)
    if shutil.which("cargo") and not RUST.exists():
        progress("building the official Rust crate's driver (one or two minutes)")
        manifest = ROOT / "benches" / "peers" / "rust" / "Cargo.toml"
        _run(
            [
                "cargo",
                "build",
                "--release",
                "--quiet",
                "--manifest-path",
                str(manifest),
                "--target-dir",
                str(HOME / "rust"),
            ]
        )
    if shutil.which("go") and not GO.exists():
        progress("building the driver of Asynq")
        _run(["go", "build", "-o", str(GO), "."], ROOT / "benches" / "peers" / "asynq")


def _install_python(peer: str, packages: tuple[str, ...]) -> None:
    home = HOME / peer
    made = _run([sys.executable, "-m", "venv", str(home)])
    pip = [str(python_of(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not (made and _run([*pip, *packages])):
        shutil.rmtree(home, ignore_errors=True)


def _run(command: list[str], folder: Path = ROOT) -> bool:
    return subprocess.run(command, cwd=folder, check=False, stdin=subprocess.DEVNULL).returncode == 0
