"""What is pinned of each peer: its version, and the hash of each Lua script in its package.

``python -m tests.interop.scripts_lock 6 PACKAGE`` prints which scripts of another package are new, gone or changed
since that peer was pinned. ``--write`` pins what is installed: after a change of `package.json`.
"""

import argparse
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from .peers import HERE, PEERS, Peer


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


def installed_version(package: Path) -> str:
    version: str = json.loads((package / "package.json").read_text())["version"]
    return version


def installed(peer: Peer) -> dict[str, Any]:
    """Return the lock of a peer as its installed package and `package-lock.json` say it should be."""
    entry = json.loads((HERE / "package-lock.json").read_text())["packages"][f"node_modules/{peer.library}"]
    return {
        "package": "bullmq",
        "version": installed_version(peer.package),
        "integrity": entry["integrity"],
        "scripts": hashes(peer.package),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("package", type=Path, nargs="?", help="a folder; default: the installed one")
    parser.add_argument("--write", action="store_true", help="pin the installed package")
    options = parser.parse_args()
    peer = PEERS[options.peer]
    before = peer.lock["scripts"] if peer.lock_file.exists() else {}
    print("\n".join(changes(before, hashes(options.package or peer.package))) or "no script has changed")
    if options.write:
        peer.lock_file.write_text(json.dumps(installed(peer), indent=2) + "\n")


if __name__ == "__main__":
    main()
