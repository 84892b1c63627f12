"""Runs one server for as long as another process lives. Started as a program of its own, it imports only the standard library.

Its standard input is a pipe that the owner holds open and never needs to close: however the owner ends, SIGKILL included, the
kernel closes the pipe, and the server is stopped. ``keep`` on the pipe spares the scratch directory for a restart.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading

GRACE = 10.0  # seconds for the server to write its last data


def supervise(scratch: str, command: list[str]) -> None:
    """Start ``command``, tell its pid on standard output, stop it when standard input ends, then remove ``scratch``."""
    # Inherited descriptors are passed on: the lock on a data directory must last exactly as long as the server.
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, close_fds=False)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    print(server.pid, flush=True)
    gone = threading.Event()
    watch = threading.Thread(target=_stop_with_owner, args=(server, gone, scratch), daemon=True)
    watch.start()
    server.wait()
    if gone.is_set():
        watch.join()


def _stop_with_owner(server: "subprocess.Popen[bytes]", gone: threading.Event, scratch: str) -> None:
    request = os.read(0, 16)  # not sys.stdin: a reader blocked in it would break the interpreter's exit
    gone.set()
    server.terminate()
    try:
        server.wait(GRACE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if request != b"keep":
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    supervise(sys.argv[1], sys.argv[2:])
