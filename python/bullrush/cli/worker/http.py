"""``--health-port``: /healthz, /readyz and /metrics over HTTP."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.worker.bounded_server import BoundedHandler, BoundedServer

_log: Final = logging.getLogger("bullrush.worker")
#: Problems that a new process may solve. Without Redis none would work any better.
_FATAL: Final = frozenset({"deaf", "stuck", "stopped", "silent"})
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Monitored(Protocol):
    """What the pages ask: a process, or a supervisor of several."""

    @property
    def closing(self) -> bool:
        """True once no more jobs are taken."""

    def health(self) -> Sequence[Sequence[dict[str, Any]] | None]:
        """Return the health of each worker of each process; None for a process that does not answer."""

    def metrics(self) -> str:
        """Return the metrics of all processes and queues."""


def serve(address: tuple[str, int], monitored: Monitored) -> None:
    """Answer on a thread of its own.

    Raises:
        CommandError: the port is taken.
    """

    class Pages(BoundedHandler):
        def do_HEAD(self) -> None:  # noqa: N802
            self.do_GET()

        def do_GET(self) -> None:  # noqa: N802
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._answer(200, monitored.metrics(), _TEXT)
            elif path in {"/healthz", "/readyz"}:
                code, page = _page(path, monitored)
                self._answer(code, json.dumps(page, indent=2) + "\n", "application/json")
            else:
                self._answer(404, "there are /healthz, /readyz and /metrics\n", _TEXT)

        def _answer(self, code: int, body: str, kind: str) -> None:
            content = body.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    host, port = address
    try:
        server = BoundedServer(address, Pages)
    except OSError as error:
        raise CommandError(f"--health-port {host}:{port} cannot be used: {error.strerror}") from None
    threading.Thread(target=server.serve_forever, name="bullrush-health", daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    _log.info("Health and metrics: http://%s:%d", shown, server.server_address[1])


def _page(path: str, monitored: Monitored) -> tuple[int, dict[str, Any]]:
    """Return the status and the content of /healthz or /readyz."""
    processes = monitored.health()
    workers = [worker for process in processes for worker in process or ()]
    problems = {problem for worker in workers for problem in worker["problems"]}
    if monitored.closing:
        # It ends by itself: that is no reason to kill it, but it takes no more work.
        well = path == "/healthz"
    elif path == "/healthz":
        well = not problems & _FATAL
    else:
        well = bool(processes) and not problems and all(processes)
    return (200 if well else 503), {"ok": well, "processes": processes}
