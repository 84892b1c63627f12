"""What servers of the tests share: a port of their own, and a thread that serves until the block ends."""

import socketserver
import threading


class ThreadedServer(socketserver.ThreadingTCPServer):
    """Listens on a free port of this machine. Attributes that handlers need are set before ``super().__init__``."""

    daemon_threads = True

    def __init__(self, handler: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"redis://127.0.0.1:{self.server_address[1]}/0"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def __exit__(self, *_exception: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
