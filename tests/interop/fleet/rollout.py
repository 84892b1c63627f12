"""Two plays: BullMQ is rolled from 5.62.0 to the newest 6.x and back to the newest 5.x; and a version that flips."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from redis import Redis

from tests.interop.peers import FLOOR, NEWEST_5, NEWEST_6

from .fleet import OUR_KINDS
from .play import QUEUES, Outcome, Play, Step

#: How many workers there are: all of Node, or half of them of bullrush.
WORKERS = 8
PRODUCERS = 2
#: Our handle, behind those of the two producers.
OURS = PRODUCERS
SECONDS_PER_FLIP = 1
PAUSES_BETWEEN_VERSIONS = 20


def roll(url: str, folder: Path, *, jobs: int, seed: int, with_ours: bool) -> Outcome:
    """Replace each process of Node by one of 6.x while jobs flow, then by one of the newest 5.x.

    Args:
        url: an empty server.
        folder: for what the processes write.
        jobs: how many are added.
        seed: chooses the order in which the processes are replaced.
        with_ours: half of the workers are ours, and we add jobs; otherwise BullMQ is alone.
    """
    our_workers = OUR_KINDS * (WORKERS // 4) if with_ours else ()
    node_workers = WORKERS - len(our_workers)
    with Play(url, folder, [FLOOR] * node_workers, [FLOOR] * PRODUCERS, our_workers) as play:
        chance = random.Random(seed)
        steps = list(_pauses(play))
        for old, new in ((FLOOR, NEWEST_6), (NEWEST_6, NEWEST_5)):
            replacements: list[Step] = [partial(play.replace_worker, old, new)] * node_workers
            replacements += [partial(play.replace_producer, number, new) for number in range(PRODUCERS)]
            chance.shuffle(replacements)
            steps += [*replacements, play.fleet.wait_until_left, *_pauses(play)]
        return play.run(jobs, steps)


def _pauses(play: Play) -> Iterator[Step]:
    """Yield pauses and resumes by each handle of what it has paused itself, or another one.

    They may happen only while all processes of Node have one major version: BullMQ loses jobs otherwise.
    """
    handles = len(play.handles)
    for shift in (0, 1):
        for handle in range(handles):
            yield partial(play.pause, handle)
            yield partial(play.resume, (handle + shift) % handles)


def flip(url: str, folder: Path, *, jobs: int) -> Outcome:
    """Let workers and producers of 5.62.0, of 6.x and of ours work while the version of the queues flips each second.

    Only we pause and resume: `pause_between_versions` shows what is lost when 5.62.0 does that beside 6.x.
    """
    versions = [FLOOR, NEWEST_6]
    with Play(url, folder, versions * 2, versions, OUR_KINDS * 2) as play, _flipping(url):
        return play.run(jobs, [partial(play.pause, OURS), partial(play.resume, OURS)] * PAUSES_BETWEEN_VERSIONS)


def pause_between_versions(url: str, folder: Path, *, jobs: int) -> Outcome:
    """Let a producer of 5.62.0 pause and resume a queue to which one of 6.x adds, too; bullrush takes no part."""
    versions = [FLOOR, NEWEST_6]
    with Play(url, folder, versions * 2, versions, patience=10) as play:
        return play.run(jobs, [partial(play.pause, 0), partial(play.resume, 0)] * PAUSES_BETWEEN_VERSIONS)


@contextmanager
def _flipping(url: str) -> Iterator[None]:
    ended = threading.Event()

    def write() -> None:
        with Redis.from_url(url) as redis:
            flips = 0
            while not ended.wait(SECONDS_PER_FLIP):
                flips += 1
                for queue in QUEUES:
                    redis.hset(f"bull:{queue}:meta", "version", f"bullmq:{(FLOOR, NEWEST_6)[flips % 2].version}")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
