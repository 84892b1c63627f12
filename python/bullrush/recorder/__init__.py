"""Remembers what happened to jobs, also to those that are gone: written from the event streams into a file."""

from bullrush.recorder.attempts import Attempt
from bullrush.recorder.history import History, MinuteCounts, Remembered, RememberedJob, SlowAttempt, SlowName
from bullrush.recorder.recorder import MOST_BYTES, Recorder, RecorderProgress
from bullrush.recorder.waterfall import Bar

__all__ = [
    "MOST_BYTES",
    "Attempt",
    "Bar",
    "History",
    "MinuteCounts",
    "Recorder",
    "RecorderProgress",
    "Remembered",
    "RememberedJob",
    "SlowAttempt",
    "SlowName",
]
