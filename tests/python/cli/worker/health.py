"""Asks a command that runs with ``--health-port 0``."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any

from .conftest import Command


def address(command: Command) -> tuple[str, int]:
    command.prints("Health and metrics: ")
    host, port = re.findall(r"Health and metrics: http://([\d.]+):(\d+)", command.output)[0]
    return host, int(port)


def get(command: Command, path: str, method: str = "GET") -> tuple[int, str]:
    _, port = address(command)
    try:
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        with urllib.request.urlopen(asked, timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as reply:
        with reply:
            return reply.code, reply.read().decode()


def page(command: Command, path: str) -> tuple[int, Any]:
    code, text = get(command, path)
    return code, json.loads(text)
