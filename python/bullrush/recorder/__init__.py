"""Remembers what happened to jobs, also to those that are gone: written from the event streams into a file."""

from bullrush.recorder.attempts import Attempt
from bullrush.recorder.history import History, MinuteCounts, Remembered, RememberedJob
from bullrush.recorder.recorder import EVENTS_PER_SECOND, MOST_BYTES, Recorder
from bullrush.recorder.waterfall import Bar

__all__ = [
    "EVENTS_PER_SECOND",
    "MOST_BYTES",
    "Attempt",
    "Bar",
    "History",
    "MinuteCounts",
    "Recorder",
    "Remembered",
    "RememberedJob",
]
