"""A certificate authority, and servers with TLS that ask clients for a certificate."""

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bullrush.embedded import EmbeddedRedis
from tests.looping import Looping

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates with openssl. With a host, its own certificate is one of a server, too."""

    def __init__(self, folder: Path, name: str = "authority", host: str | None = None) -> None:
        self._folder = folder
        self.own = Identity(folder / f"{name}.pem", folder / f"{name}-key.pem")
        hosts = ("-addext", f"subjectAltName=DNS:{host}") if host else ()
        _openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-days", "2", *hosts, *_files(self.own))

    @property
    def certificate(self) -> Path:
        """The file that clients trust."""
        return self.own.certificate

    def sign(self, name: str, *hosts: str) -> Identity:
        """Return a new certificate; without hosts it is one of a client."""
        new = Identity(self._folder / f"{name}.pem", self._folder / f"{name}-key.pem")
        request = self._folder / f"{name}.csr"
        _openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", new.key, "-out", request)
        kinds = [f"{'IP' if host[0].isdigit() else 'DNS'}:{host}" for host in hosts]
        extensions = self._folder / f"{name}.ext"
        use = f"subjectAltName={','.join(kinds)}" if hosts else "extendedKeyUsage=clientAuth"
        extensions.write_text(f"basicConstraints=CA:FALSE\n{use}\n")
        _openssl(
            *("x509", "-req", "-in", request, "-days", "2", "-out", new.certificate, "-extfile", extensions),
            *("-CA", self.own.certificate, "-CAkey", self.own.key, "-CAcreateserial"),
        )
        return new


class TlsRelay(Looping):
    """Ends TLS in front of a local server, for a server that was built without it.

    It asks clients for a certificate.
    """

    def __init__(self, port: int, server: Identity, clients: Authority | None) -> None:
        self._target = port
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server.certificate, server.key)
        if clients is not None:
            context.load_verify_locations(clients.certificate)
            context.verify_mode = ssl.CERT_REQUIRED
        super().__init__()
        self._listener = self._run(asyncio.start_server(self._relay, "127.0.0.1", 0, ssl=context))
        self.port: int = self._listener.sockets[0].getsockname()[1]

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
            pipes = [
                asyncio.ensure_future(_pipe(reader, server_writer)),
                asyncio.ensure_future(_pipe(server_reader, writer)),
            ]
            try:
                await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pipe in pipes:
                    pipe.cancel()
                server_writer.transport.abort()
        writer.transport.abort()

    async def _close(self) -> None:
        self._stop_accepting(self._listener)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0.001)  # transports that were aborted close in the next turns of the loop
        self._listener.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@contextlib.contextmanager
def serve_tls(server: Identity, clients: Authority | None) -> Iterator[int]:
    """Run a server with TLS that asks clients for a certificate of that authority, if any; yield its port.

    A Redis that was built without TLS gets a relay in front of it.
    """
    with EmbeddedRedis(port=0, password="") as plain:
        port = int(plain.url.rsplit(":", 1)[1].partition("/")[0])
        with TlsRelay(port, server, clients) as relay:
            settings = {"cert-file": server.certificate, "key-file": server.key, "port": relay.port + 1}
            if clients:
                settings |= {"ca-cert-file": clients.certificate, "auth-clients": "yes"}
            else:
                settings |= {"auth-clients": "no"}
            words = [word for name, value in settings.items() for word in (f"--tls-{name}", str(value))]
            try:
                secured = EmbeddedRedis(port=0, password="", args=words)
            except RuntimeError:
                yield relay.port
                return
            with secured:
                yield relay.port + 1


def _files(identity: Identity) -> list[object]:
    return ["-keyout", identity.key, "-out", identity.certificate]


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
