"""URLs: which are accepted, which are refused, and that no password is ever shown."""

import traceback

import pytest

from bullrush import FlowProducer, Queue, QueueEvents, Worker, errors
from bullrush.url import address, database, masked

SECRET = "s3cr3t"

USABLE = [
    f"redis://:{SECRET}@127.0.0.1:1/0",
    f"redis://me:{SECRET}@127.0.0.1:1/0",
    f"redis://me:{SECRET}%40x@127.0.0.1:1/0",
    f"redis://me:p@{SECRET}@127.0.0.1:1/0",
    f"redis://{SECRET}@127.0.0.1:1/0",
    f"rediss://me:{SECRET}@127.0.0.1:1?protocol=resp3",
    f"valkeys://me:{SECRET}@127.0.0.1:1?ssl_keyfile={SECRET}&ssl_certfile=no-such-file",
    f"redis+sentinel://me:{SECRET}@127.0.0.1:1,127.0.0.1:2/main?sentinel_password={SECRET}",
    f"rediss+sentinel://{SECRET}@127.0.0.1:1/main/1?sentinel_username=me&sentinel_password={SECRET}%40",
    f"unix:///no/such.sock?pass={SECRET}",
    f"unix:///no/such.sock?user=me&pass={SECRET}&db=1",
]

REFUSED = [
    f"redis://127.0.0.1:1/0?password={SECRET}",
    f"redis://127.0.0.1:1/0?pass={SECRET}",
    f"redis://127.0.0.1:1/0?{SECRET}",
    f"redis://127.0.0.1:1/{SECRET}",
    f"redis://127.0.0.1:{SECRET}/0",
    f"redis://me:a/{SECRET}@127.0.0.1:1/0",
    f"redis://me:1/{SECRET}@127.0.0.1:1/0",
    f"redis://me:a#{SECRET}@127.0.0.1:1/0",
    f"redis://me:a?{SECRET}@127.0.0.1:1/0",
    f"redis://me:{SECRET}@[::1/0",
    f"redis//me:{SECRET}@127.0.0.1/0",
    f" redis://me:{SECRET}@127.0.0.1:1/0",
    f"rediss://me:{SECRET}@127.0.0.1:1/0#insecure",
    f"redis+sentinel://me:{SECRET}@h1:1,h2:2",
    f"redis+sentinel://me:{SECRET}@h1:1,h2:2/x/{SECRET}",
    f"redis+sentinel://me:a/{SECRET}@h1:1,h2:2/x",
    f"redis+sentinel://h1:1,h2:2/x?sentinel_password=a@{SECRET}",
    f"redis+sentinel://h1:1,h2:2/x?sentinel_pass={SECRET}",
    f"redis://me:{SECRET}@h1:1,h2:2/0",
    f"redis://127.0.0.1:1?ssl_keyfile={SECRET}",
    f"rediss://127.0.0.1:1?ssl_keyfile={SECRET}",
    f"rediss://127.0.0.1:1?ssl_cert_reqs=none&ssl_certfile={SECRET}",
    f"unix:///no/such.sock?password={SECRET}",
    f"http://me:{SECRET}@127.0.0.1",
]


def shown(error: BaseException) -> str:
    """Return the text of a traceback without the source lines."""
    return repr(error) + "".join(traceback.format_exception_only(error)) + str(error.__cause__) + str(error.__context__)


@pytest.mark.parametrize("url", USABLE)
def test_a_password_is_never_shown(url, caplog):
    caplog.set_level("DEBUG")
    queue = Queue("q", url=url, timeout=50)
    for handle in (queue, Worker("q", lambda job: None, url=url), QueueEvents("q", url=url), FlowProducer(url=url)):
        assert SECRET not in repr(handle) + str(handle) + repr(handle.opts)
    with pytest.raises(errors.BullrushError) as caught:
        queue.add("n")
    assert SECRET not in shown(caught.value) + caplog.text


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(url):
    for make in (Queue, lambda name, url: Worker(name, lambda job: None, url=url)):
        with pytest.raises(errors.InvalidOptionError) as caught:
            make("q", url=url)
        assert SECRET not in shown(caught.value)
    assert SECRET not in masked(url)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://me:secret@host:1/0", "redis://me:***@host:1/0"),
        ("redis://:secret@[::1]:1/0", "redis://:***@[::1]:1/0"),
        ("redis://secret@host", "redis://***@host"),
        ("redis://127.0.0.1:6379/12", "redis://127.0.0.1:6379/12"),
        ("unix:///tmp/a.sock?pass=secret&db=1", "unix:///tmp/a.sock?***&db=1"),
        ("redis+sentinel://me:secret@a,b:2/main/1?protocol=3", "redis+sentinel://me:***@a,b:2/main/1?protocol=3"),
        ("rediss+sentinel://a/main?sentinel_password=secret", "rediss+sentinel://a/main?***"),
        ("rediss://secret@a?ssl_check_hostname=false&ssl_keyfile=x", "rediss://***@a?ssl_check_hostname=false&***"),
        ("valkey+cluster://:secret@a:1,[::1]:2", "valkey+cluster://:***@a:1,[::1]:2"),
        ("redis+sentinel://me:a/secret@host", "redis+sentinel://***"),
        ("redis://me:a/secret@host", "redis://***"),
        ("me:secret@host", "***"),
    ],
)
def test_all_but_the_password_is_shown_where_it_is_plain(url, text):
    assert masked(url) == text


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://me:secret@host:1/0", "host:1"),
        ("rediss://secret@host", "host:6379"),
        ("redis://:secret@[::1]/2", "[::1]:6379"),
        ("redis://", "redis://"),
        ("unix:///tmp/a.sock?pass=secret&db=1", "/tmp/a.sock"),
        ("redis+sentinel://me:secret@a,[::1]:2/main/1", "a:26379,[::1]:2 (Sentinel, main)"),
        ("redis+cluster://me:secret@a,b:2", "a:6379,b:2 (cluster)"),
        ("redis://me:a/secret@host", "redis://***"),
    ],
)
def test_the_address_in_a_message_is_the_host_and_the_port(url, text):
    assert address(url) == text


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("redis://127.0.0.1", 0),
        ("rediss://user:p@h:6379/12?ssl_check_hostname=false", 12),
        ("redis://[::1]:6379/", 0),
        ("unix:///run/1/redis.sock", 0),
        ("unix:///run/redis.sock?user=me&db=3", 3),
        ("redis+sentinel://h:1,h2:2/mymaster", 0),
        ("redis+sentinel://h:1,h2:2/7", 0),
        ("redis+sentinel://h:1,h2:2/mymaster/4", 4),
        ("redis+cluster://h:1,h2:2", 0),
    ],
)
def test_a_url_has_a_database(url: str, number: int) -> None:
    assert database(url) == number
