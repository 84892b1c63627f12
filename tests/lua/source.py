"""The Lua scripts as they are sent to the server."""

from pathlib import Path

from bullrush.scripts import read_scripts

LUA = Path(__file__).resolve().parents[2] / "lua"


def flatten(script: str) -> str:
    """Return a script ("add/add_jobs") with all that it includes."""
    return read_scripts()[script].source
