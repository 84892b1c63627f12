"""The stated versions of Rust and Python are the ones that the project needs."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def version(text: str) -> tuple[int, ...]:
    major, minor = (*text.split("."), "0")[:2]
    return int(major), int(minor)


def test_the_rust_version_is_the_one_that_the_locked_crates_demand() -> None:
    asked = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(ROOT / "Cargo.toml")]
    packages = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)["packages"]
    demanded = {
        package["name"]: version(package["rust_version"])
        for package in packages
        if package["rust_version"] and not package["name"].startswith("bullrush")
    }
    stated = next(package["rust_version"] for package in packages if package["name"] == "bullrush")
    hardest = max(demanded, key=lambda name: demanded[name])
    assert version(stated) == demanded[hardest], f"{hardest} demands it"


def test_the_oldest_python_is_the_same_for_the_package_and_the_extension() -> None:
    stated = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    built_for = re.search(r"abi3-py3(\d+)", (ROOT / "src/bindings/Cargo.toml").read_text())
    assert stated
    assert built_for
    assert stated[1] == built_for[1]
