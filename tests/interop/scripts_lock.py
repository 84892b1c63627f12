"""What is pinned of BullMQ: its version, and the hash of each Lua script in its package.

``python -m tests.interop.scripts_lock PACKAGE`` prints which scripts of another package are new, gone or changed, and
``--write`` pins that package instead. `make drift` uses it.
"""

import argparse
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LOCK = HERE / "scripts.lock"
PINNED = HERE / "node_modules" / "bullmq5"


def read_lock() -> dict[str, Any]:
    """Return version, commit and hash of the pinned package, and the SHA-256 of each script."""
    lock: dict[str, Any] = json.loads(LOCK.read_text())
    return lock


def hashes(package: Path) -> dict[str, str]:
    """Return the SHA-256 of each Lua file that a package ships for CommonJS, by its path in the folder of commands."""
    commands = package / "dist" / "cjs" / "commands"
    found = sorted(commands.rglob("*.lua"))
    assert found, f"{package} has no Lua scripts"
    return {file.relative_to(commands).as_posix(): sha256(file.read_bytes()).hexdigest() for file in found}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return one line per script that is new, gone or changed."""
    words = {(False, True): "new", (True, False): "gone", (True, True): "changed"}
    return [
        f"{words[name in before, name in after]}: {name}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="the folder of a package bullmq")
    parser.add_argument("--write", action="store_true", help="pin this package: needs --commit")
    parser.add_argument("--commit", help="the commit of its release")
    options = parser.parse_args()
    lock, found = read_lock() if LOCK.exists() else {"scripts": {}}, hashes(options.package)
    lines = changes(lock["scripts"], found)
    print("\n".join(lines) or "no script has changed")
    if options.write:
        if not options.commit:
            parser.error("--write needs --commit")
        installed = json.loads((HERE / "package-lock.json").read_text())["packages"]["node_modules/bullmq5"]
        pinned = {
            "package": "bullmq",
            "version": json.loads((options.package / "package.json").read_text())["version"],
            "commit": options.commit,
            "integrity": installed["integrity"],
            "scripts": found,
        }
        LOCK.write_text(json.dumps(pinned, indent=2) + "\n")


if __name__ == "__main__":
    main()
