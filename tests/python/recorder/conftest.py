"""A recorder that runs beside the test."""

from tests.python.recorder.recording import file, recording

__all__ = ["file", "recording"]
