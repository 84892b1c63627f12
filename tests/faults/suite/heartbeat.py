"""How starved the machine was: rules that name times allow for what the machine took from everybody."""

import hashlib
import threading
import time
from bisect import bisect_left

PAUSE = 0.2
#: About 10 ms of work for one core, without the interpreter's lock.
WORK = bytes(4 << 20)


class Heartbeat(threading.Thread):
    """Sleeps and works a little, again and again, and notes how much later it was done than on an idle machine."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._at: list[float] = []
        #: At each beat, the seconds lost since the first one.
        self._lost: list[float] = []
        self.start()

    def run(self) -> None:
        lost = 0.0
        while not self._over.is_set():
            began, worked = time.monotonic(), time.thread_time()
            time.sleep(PAUSE)
            hashlib.sha256(WORK).digest()
            now = time.monotonic()
            lost += max(0.0, now - began - PAUSE - (time.thread_time() - worked))
            self._lost.append(lost)
            self._at.append(now)

    def end(self) -> None:
        self._over.set()

    def lost(self, began: float, ended: float) -> float:
        """Return the seconds that the machine took from a thread that wanted to run between two times."""
        if not self._at:
            return 0.0
        last = len(self._at) - 1
        first, after = (min(bisect_left(self._at, at), last) for at in (began, ended))
        # The beats at both ends count whole: half of one may be what counts.
        return self._lost[after] - (self._lost[first - 1] if first else 0.0)
