"""A line on a terminal that says how a command goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from redis import Redis

from bullrush import Queue


def test_a_recording_says_how_it_goes_and_what_is_logged_stands_above(
    terminal: Callable, queue: Queue, redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    redis.set(f"bull:{queue.name}~wrong:events", "no stream")
    words = ["record", redis_url, "--file", tmp_path / "history.db", "--queue", queue.name]
    shown = terminal(*words, "--queue", f"{queue.name}~wrong")
    shown.sees("until Ctrl-C or SIGTERM")
    shown.sees("WRONGTYPE")
    shown.sees("0 events/s, 0 gaps, 0.")
    queue.add("n")
    shown.sees(" events/s (100% kept), 0 gaps, 0.")
    shown.sendintr()
    code, rest = shown.ended()
    assert code == 0 and "recorded since" in rest


def test_nothing_is_shown_where_stderr_is_no_terminal(
    run: Callable, queue: Queue, redis_url: str, tmp_path: Path
) -> None:
    queue.add("n")
    words = ["record", redis_url, "--file", tmp_path / "history.db", "--queue", queue.name, "--for", "500ms"]
    assert "events/s" not in run(*words).err
