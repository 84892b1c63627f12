"""Who ran which job how often: told by the handlers themselves, and kept when their process is killed."""

import os
import uuid
from collections import Counter
from pathlib import Path
from typing import BinaryIO


class Ledger:
    """Counts the starts of handlers. It can be sent to executors on this machine.

    Args:
        folder: where each process keeps its notes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None

    def __reduce__(self) -> tuple[type["Ledger"], tuple[Path]]:
        return Ledger, (self._folder,)

    def note(self, job_id: str) -> None:
        """Note the start of a job."""
        if self._file is None:
            # Without a buffer: what is written stays when the process is killed.
            self._file = (self._folder / f"{os.getpid()}-{uuid.uuid4().hex}").open("ab", buffering=0)
        self._file.write(f"{job_id}\n".encode())

    def starts(self) -> Counter[str]:
        """Return how often each job was started."""
        return Counter(line for file in self._folder.iterdir() for line in file.read_text().splitlines())
