"""Moving a queue of Bull: timed from the start to the report, then every job has to be there, in its order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from benches.harness.checking import check_added
from benches.harness.measuring import Measurement
from benches.harness.payload import NAME, payloads
from benches.harness.stage import Stage
from bullrush import LegacyQueue, Queue

#: The prefix of the queue of Bull.
LEGACY: Final = "legacy"

#: Adds jobs as Bull 4 would hold them.
_ADD = """
local queue, first = KEYS[1], tonumber(ARGV[1])
for at = 4, #ARGV do
  local id = first + at - 4
  redis.call('HSET', queue .. ':' .. id, 'name', ARGV[2], 'data', ARGV[at], 'timestamp', ARGV[3], 'delay', 0,
    'priority', 0, 'opts', '{"attempts":1,"delay":0,"timestamp":' .. ARGV[3] .. '}')
  redis.call('LPUSH', queue .. ':wait', id)
end
redis.call('INCRBY', queue .. ':id', #ARGV - 3)
"""
_CHUNK = 1_000


@dataclass(frozen=True)
class Move:
    """All jobs wait in a queue of Bull, and none elsewhere."""

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender move them."""
        for words in _calls(stage):
            stage.server.command("EVAL", _ADD, 1, f"{LEGACY}:{stage.queue}", *words)
        (peer,) = stage.peers
        with stage.limited():
            stage.prepare(peer, {"prefix": LEGACY})
            meter = stage.meter()
            peer.go()
            peer.done()
            found = meter.read(stage.jobs)
        url = stage.server.url
        with LegacyQueue(stage.queue, url=url, prefix=LEGACY) as legacy, Queue(stage.queue, url=url) as target:
            legacy.cleanup(target)
        check_added(stage.server, stage.queue, stage.jobs, stage.payload)
        return found


def _calls(stage: Stage) -> Iterator[list[object]]:
    now = time.time_ns() // 1_000_000
    data = [orjson.dumps(one) for one in payloads(stage.jobs, stage.payload)]
    for start in range(0, len(data), _CHUNK):
        yield [start + 1, NAME, now, *data[start : start + _CHUNK]]
