"""The number of workers that may wake, as any program may have written it."""

import pytest


@pytest.fixture
def budget(client, queue):
    """`budget(value)` stores what `ext:hint` holds for 50 s; `budget()` reads it."""
    key = f"bull:{queue}:ext:hint"
    return lambda *value: client.set(key, *value, px=50_000) if value else client.get(key)


@pytest.fixture
def lifetime(client, queue):
    """How many ms it will live."""
    return lambda: client.pttl(f"bull:{queue}:ext:hint")
