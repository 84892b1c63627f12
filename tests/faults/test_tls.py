"""TLS: a certificate that cannot be trusted is an error at once, and no password is sent."""

import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

from bullrush import Queue, Worker, errors

MAKE_CERTIFICATE = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
]


@pytest.fixture
def untrusted(tmp_path):
    """Return the port of a TLS server with a self-signed certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [*MAKE_CERTIFICATE, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(client, server_side=True) as secured:
                    secured.recv(1)
            except OSError:
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_certificate_that_cannot_be_trusted_is_an_error_at_once(untrusted):
    url = f"rediss://me:secret@localhost:{untrusted}/0"
    began = time.monotonic()
    with pytest.raises(errors.ConnectionLostError, match="no TLS connection.*certificate"):
        Queue("work", url=url, timeout=60_000).add("quick")
    with pytest.raises(errors.ConnectionLostError, match="no TLS connection.*certificate"):
        Worker("work", lambda job: None, url=url).run(max_seconds=60)
    assert time.monotonic() - began < 30
