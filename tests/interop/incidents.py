"""What goes wrong in queues that only Node uses: planted by Node alone, each on a server of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bullrush.embedded import EmbeddedRedis

_NODE = Path(__file__).parent / "node"
#: The incidents of ``node/incidents.js`` that the first page names, and their queues. It has seven sentences, so these
#: are two servers.
SERVERS: tuple[dict[str, str], ...] = (
    {
        "noWorker": "video",
        "forgottenPause": "reports",
        "failuresOfThreeErrors": "mail",
        "poisonJob": "invoices",
        "brokenScheduler": "billing",
    },
    {"hungSlots": "uploads", "hungWorker": "scans", "failedChild": "stock", "deafWorker": "letters"},
)
#: Queues in which nothing is wrong, and much goes on.
HEALTHY = tuple(f"healthy-{number}" for number in range(10))


@contextmanager
def planted(library: str, *incidents: str) -> Iterator[str]:
    """Plant incidents, and return the URL of their server."""
    with EmbeddedRedis(port=0, password="") as server:
        command = ["node", "incidents.js", library, str(urlsplit(server.url).port), *incidents]
        with subprocess.Popen(command, cwd=_NODE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
            assert node.stdout is not None and node.stdout.readline() == "planted\n"
            yield server.url
            node.kill()
