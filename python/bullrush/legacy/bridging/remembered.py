"""What the other queue remembers of a job until its end stands in the queue of Bull.

No call of this file touches Redis.
"""

from __future__ import annotations

from typing import Any

import orjson


def remember(source: str, id: str, opts: bytes) -> str:
    """Return what ``ext:mirror`` has of a job: where it came from, and its own rules about keeping it at its end."""
    given = decoded_object(opts)
    return orjson.dumps(
        {"from": source, "id": id, "completed": given.get("removeOnComplete"), "failed": given.get("removeOnFail")}
    ).decode()


def keep_until_mirrored(opts: bytes) -> bytes:
    """Return options with which a finished job stays until its end is mirrored.

    False also overrules a worker's own rule.
    """
    given = decoded_object(opts)
    return orjson.dumps({**given, "removeOnComplete": False, "removeOnFail": False}) if given else opts


def decoded_object(stored: bytes) -> dict[str, Any]:
    """Return a JSON object, an empty one if it is none."""
    try:
        value = orjson.loads(stored)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
