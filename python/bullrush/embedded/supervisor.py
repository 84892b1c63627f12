"""Runs one server for as long as somebody uses it. Started as a program of its own, it imports only the standard library.

Its standard input is a pipe that the owner holds open and never needs to close: however the owner ends, SIGKILL included, the
kernel closes the pipe, and the server is stopped, unless other processes hold a lock on the file of its users: then it tells
the owner so and waits for them. ``keep`` on the pipe stops the server at once and spares the scratch directory for a restart.
However the supervisor ends, its server ends as well.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

GRACE = 10.0  # seconds for the server to write its last data
SHARED = b"shared\n"
_PR_SET_PDEATHSIG = 1


def supervise(scratch: str, users: str, command: list[str]) -> None:
    """Start ``command``, tell its pid on standard output, stop it when nobody uses it any more, then remove ``scratch``."""
    bind = _signal_on_death()
    # Inherited descriptors are passed on: the lock on a data directory must last exactly as long as the server.
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, close_fds=False, preexec_fn=bind)
    guard = _guard(server.pid) if bind is None and hasattr(os, "fork") else None
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    print(server.pid, flush=True)
    gone = threading.Event()
    threading.Thread(target=_stop_with_users, args=(server, gone, users), daemon=True).start()
    server.wait()
    if guard is not None:
        with suppress(BrokenPipeError):
            os.write(guard, b"ended")
    if gone.is_set():
        shutil.rmtree(scratch, ignore_errors=True)


def _signal_on_death() -> Callable[[], None] | None:
    """Return how Linux is told to end a new process with the thread that started it, here the main one; None elsewhere."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, TypeError, AttributeError):
        return None
    supervisor = os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != supervisor:  # it died before it was heard
            os._exit(1)

    return bind


def _guard(server: int) -> int:
    """Start a second process that ends the server where the kernel does not; what is written to the result dismisses it."""
    end, alive = os.pipe()
    if os.fork():
        os.close(end)
        return alive
    try:
        os.closerange(0, end)  # the lock on the directory and the pipes to the owner are not its own
        os.closerange(end + 1, 256)
        if not os.read(end, 16):
            os.kill(server, signal.SIGTERM)
    finally:
        os._exit(0)


def _stop_with_users(server: "subprocess.Popen[bytes]", gone: threading.Event, users: str) -> None:
    request = os.read(0, 16)  # not sys.stdin: a reader blocked in it would break the interpreter's exit
    if request != b"keep":
        gone.set()
        if users:
            _wait_for_users(users)
    server.terminate()
    try:
        server.wait(GRACE)
    except subprocess.TimeoutExpired:
        server.kill()


def _wait_for_users(path: str) -> None:
    """Take the lock that others share while they use the server, and keep it: nobody joins a server that is being stopped."""
    import fcntl

    users = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(BrokenPipeError):  # the owner was killed
            os.write(1, SHARED)
        fcntl.flock(users, fcntl.LOCK_EX)


if __name__ == "__main__":
    supervise(sys.argv[1], sys.argv[2], sys.argv[3:])
