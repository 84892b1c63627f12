"""TLS: whom a client trusts, the certificate that it shows, and that no password is sent to anybody else."""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullrush import Queue, Worker, errors
from tests.servers.tls import Authority, Identity, serve_tls
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make certificates")
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def client(authority: Authority) -> Identity:
    return authority.sign("client")


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Iterator[str]:
    """Return ``localhost:port`` of a server that asks for a certificate; the server has another name than 127.0.0.1."""
    with serve_tls(authority.sign("server", "localhost"), authority) as port:
        yield f"localhost:{port}"


def url_of(server: str, authority: Authority, client: Identity | None, scheme: str = "rediss", more: str = "") -> str:
    shown = f"&ssl_certfile={client.certificate}&ssl_keyfile={client.key}" if client else ""
    return f"{scheme}://{server}/0?ssl_ca_certs={authority.certificate}{shown}{more}"


@pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
def test_a_queue_and_a_worker_work_with_an_own_authority_and_client_certificates(secured, authority, client, scheme):
    url = url_of(secured, authority, client, scheme)
    done = threading.Event()
    worker = Worker(scheme, lambda job: done.set(), url=url)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        job = Queue(scheme, url=url).add("any")
        assert done.wait(30)
        wait_until(lambda: job.get_state() == "completed", "the outcome is stored")
    finally:
        worker.close()
        working.join()


def test_a_worker_that_closes_takes_no_wake_up_with_it(secured, authority, client):
    url = url_of(secured, authority, client)
    ran: list[str] = []
    minutes = 600_000
    with Queue("leaving", url=url) as queue, Worker("leaving", ran.append, url=url, autorun=True, drain_delay=minutes):
        for count in range(1, 6):
            with Worker("leaving", ran.append, url=url, autorun=True, drain_delay=minutes):
                wait_until(lambda: queue.get_workers_count() == 2)
            queue.add("any")
            wait_until(lambda: len(ran) == count)  # noqa: B023


def test_a_server_that_asks_for_a_certificate_gets_one_or_the_error_says_so(secured, authority, folder):
    stranger = Authority(folder, "stranger").sign("unknown")
    for shown in (None, stranger):
        with pytest.raises(errors.ConnectionLostError, match="certificate"):
            Queue("work", url=url_of(secured, authority, shown), timeout=1_000).add("any")


def test_a_name_that_is_not_in_the_certificate_is_refused_unless_the_url_allows_it(secured, authority, client):
    by_address = secured.replace("localhost", "127.0.0.1")
    with pytest.raises(errors.ConnectionLostError, match="not valid for name"):
        Queue("work", url=url_of(by_address, authority, client), timeout=60_000).add("any")
    allowed = url_of(by_address, authority, client, more="&ssl_check_hostname=false")
    assert Queue("work", url=allowed).add("any").id


def test_without_the_check_of_names_the_authority_still_counts(secured, authority, client, folder):
    other = Authority(folder, "other")
    for more in ("", "&ssl_check_hostname=false"):
        with pytest.raises(errors.ConnectionLostError, match="no TLS connection.*UnknownIssuer"):
            Queue("work", url=url_of(secured, other, client, more=more), timeout=60_000).add("any")


@pytest.mark.parametrize("option", ["ssl_ca_certs", "ssl_ca_path"])
def test_a_self_signed_certificate_is_trusted_if_it_is_named_itself(folder, tmp_path, option):
    """``openssl req -x509`` makes one that calls itself an authority."""
    own = Authority(folder, "self-signed", "localhost")
    with serve_tls(own.own, None) as port:
        (tmp_path / "any.pem").write_bytes(own.certificate.read_bytes())
        named = f"{option}={tmp_path / 'any.pem' if option == 'ssl_ca_certs' else tmp_path}"
        assert Queue("work", url=f"rediss://localhost:{port}?{named}").add("any").id
        by_address = f"rediss://127.0.0.1:{port}?{named}"
        with pytest.raises(errors.ConnectionLostError, match="not valid for name"):
            Queue("work", url=by_address, timeout=60_000).add("any")
        assert Queue("work", url=f"{by_address}&ssl_check_hostname=false").add("any").id
        # The same name with another key is another certificate.
        again = Authority(tmp_path, "self-signed", "localhost")
        for more in ("", "&ssl_check_hostname=false"):
            url = f"rediss://localhost:{port}?ssl_ca_certs={again.certificate}{more}"
            with pytest.raises(errors.ConnectionLostError, match="no TLS connection"):
                Queue("work", url=url, timeout=60_000).add("any")


def test_a_folder_of_authorities_is_trusted(secured, authority, client, tmp_path):
    shutil.copy(authority.certificate, tmp_path / "authority.pem")
    url = url_of(secured, authority, client).replace(f"ssl_ca_certs={authority.certificate}", f"ssl_ca_path={tmp_path}")
    assert Queue("work", url=url).add("any").id


def test_a_key_may_be_in_the_file_of_the_certificate(secured, authority, client, tmp_path):
    both = tmp_path / "both.pem"
    both.write_text(client.certificate.read_text() + client.key.read_text())
    url = f"rediss://{secured}?ssl_ca_certs={authority.certificate}&ssl_certfile={both}"
    assert Queue("work", url=url).add("any").id


@pytest.mark.parametrize(
    ("option", "content", "reason"),
    [
        ("ssl_ca_certs", None, "cannot be read"),
        ("ssl_ca_certs", "s3cret", "has no certificate in PEM"),
        ("ssl_ca_path", None, "has no certificates in PEM files"),
        ("ssl_certfile", None, "cannot be read"),
        ("ssl_certfile", "-----BEGIN s3cret", "has no certificate in PEM"),
        ("ssl_keyfile", None, "cannot be read"),
        ("ssl_keyfile", "-----BEGIN PRIVATE KEY-----\ns3cret\n", "has no private key in PEM"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_its_content_is_not_shown(
    secured, authority, client, tmp_path, option, content, reason
):
    file = tmp_path / "file.pem"
    if content:
        file.write_text(content)
    url = url_of(secured, authority, client, more=f"&{option}={file}")
    with pytest.raises(errors.ConnectionLostError, match=f"{option}={file} {reason}") as caught:
        Queue("work", url=url, timeout=60_000).add("any")
    assert "s3cret" not in str(caught.value)


def added(queue: Queue) -> bool:
    try:
        return bool(queue.add("any").id)
    except errors.ConnectionLostError:  # it waits before its next try
        return False


def test_a_renewed_certificate_is_used_at_the_next_connection(secured, authority, client, folder, tmp_path):
    stranger = Authority(folder, "stranger-2").sign("unknown-2")
    shown = Identity(tmp_path / "own.pem", tmp_path / "own-key.pem")
    shutil.copy(stranger.certificate, shown.certificate)
    shutil.copy(stranger.key, shown.key)
    url = url_of(secured, authority, shown)
    queue = Queue("work", url=url, timeout=1_000)
    with pytest.raises(errors.ConnectionLostError, match="certificate"):
        queue.add("any")
    shutil.copy(client.certificate, shown.certificate)
    shutil.copy(client.key, shown.key)
    assert wait_until(lambda: added(queue), "the same queue connects")


def test_a_certificate_that_cannot_be_trusted_is_an_error_at_once(secured):
    url = f"rediss://me:secret@{secured}/0"
    began = time.monotonic()
    with pytest.raises(errors.ConnectionLostError, match="no TLS connection.*certificate"):
        Queue("work", url=url, timeout=60_000).add("quick")
    with pytest.raises(errors.ConnectionLostError, match="no TLS connection.*certificate"):
        Worker("work", lambda job: None, url=url).run(max_seconds=60)
    assert time.monotonic() - began < 30
