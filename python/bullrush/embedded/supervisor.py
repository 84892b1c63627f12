"""A program that runs one server as long as it is used. It imports only the standard library.

Its standard input is a pipe that the owner holds open. When the owner ends in any way, even by SIGKILL, the kernel
closes the pipe, and the supervisor stops the server. If other processes hold a lock on the file of users, it reports
this to the owner and waits for them. ``keep`` on the pipe stops the server at once and keeps the scratch directory for
a restart. When the supervisor ends in any way, its server ends, too.
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
    """Start ``command``, print its pid, stop it when it has no more users, then remove ``scratch``."""
    os.umask(0o077)  # what the server writes is for this user alone
    bind = _signal_on_death()
    # The server inherits the descriptors, so that it holds the lock on its directory exactly as long as it runs.
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
    """Return a function for a new process, after which Linux ends it together with this one; None on other systems."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, TypeError, AttributeError):
        return None
    supervisor = os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != supervisor:  # the supervisor ended before this call
            os._exit(1)

    return bind


def _guard(server: int) -> int:
    """Start a second process that stops the server if this one dies, for systems other than Linux.

    A write to the result ends it.
    """
    end, alive = os.pipe()
    if os.fork():
        os.close(end)
        return alive
    try:
        os.closerange(0, end)  # the inherited lock on the directory and the pipes to the owner
        os.closerange(end + 1, 256)
        if not os.read(end, 16):
            os.kill(server, signal.SIGTERM)
    finally:
        os._exit(0)


def _stop_with_users(server: "subprocess.Popen[bytes]", gone: threading.Event, users: str) -> None:
    request = os.read(0, 16)  # not sys.stdin: a blocked read of it disturbs the exit of the interpreter
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
    """Take the lock of the users exclusively and keep it, so that no process joins a server that is being stopped."""
    import fcntl

    users = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(BrokenPipeError):  # the owner was killed
            os.write(1, SHARED)
        fcntl.flock(users, fcntl.LOCK_EX)


if __name__ == "__main__":
    supervise(sys.argv[1], sys.argv[2], sys.argv[3:])
