"""URLs: which are accepted, which are refused, and that no password is ever shown."""

import traceback

import pytest

from bullrush import FlowProducer, Queue, QueueEvents, Worker, errors
from bullrush.url import address, masked

SECRET = "s3cr3t"

USABLE = [
    f"redis://:{SECRET}@127.0.0.1:1/0",
    f"redis://me:{SECRET}@127.0.0.1:1/0",
    f"redis://me:{SECRET}%40x@127.0.0.1:1/0",
    f"redis://me:p@{SECRET}@127.0.0.1:1/0",
    f"redis://{SECRET}@127.0.0.1:1/0",
    f"rediss://me:{SECRET}@127.0.0.1:1?protocol=resp3",
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
    f"redis+sentinel://me:{SECRET}@h1:1,h2:2/x",
    f"redis+cluster://me:{SECRET}@127.0.0.1:1",
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
        ("redis://", "127.0.0.1:6379"),
        ("unix:///tmp/a.sock?pass=secret&db=1", "/tmp/a.sock"),
        ("redis://me:a/secret@host", "redis://***"),
    ],
)
def test_the_address_in_a_message_is_the_host_and_the_port(url, text):
    assert address(url) == text
