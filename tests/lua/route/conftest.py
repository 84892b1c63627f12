"""What the tests of routes share."""

import pytest

from tests.lua.conftest import NOW

MINUTE = 60_000


@pytest.fixture
def routes(client, queue, run, run_both, add):
    """The routes of a queue, at times that a test names."""

    class Routes:
        base = queue
        registry, retired, seen = (f"bull:{queue}:ext:{name}" for name in ("routes", "retired", "rseen"))

        def of(self, slug="cap.gpu"):
            return f"{queue}~{slug}"

        def key(self, name, slug="cap.gpu"):
            return f"bull:{self.of(slug)}:{name}"

        def register(self, slug="cap.gpu", now=NOW, target=None, fallback=("", "")):
            target = target or f'{{"slug":"{slug}"}}'
            return run_both("route/register_route", queue, self.of(slug), slug, target, *fallback, now)

        def retire(self, now=NOW + 10 * MINUTE, most=100, slug=""):
            return run("route/retire_routes", queue, most, slug, now)

        def revive(self, *slugs, now=NOW + 11 * MINUTE):
            return run("route/revive_routes", queue, now, *slugs)

        def event(self, at, slug="cap.gpu"):
            """Let the newest event of a route be of that time."""
            client.delete(self.key("events", slug))
            client.xadd(self.key("events", slug), {"event": "x"}, id=f"{at}-0")

        @property
        def version(self):
            return client.get(f"bull:{queue}:ext:rver")

        @property
        def live(self):
            return client.hkeys(self.registry)

        @property
        def gone(self):
            return client.hkeys(self.retired)

    yield Routes()
    for key in client.scan_iter(f"*:{queue}~*", count=1000):
        client.delete(key)
