"""What every `Notifications` keeps to, in both APIs: who is called, when, how often, and what harms nobody."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import errors
from tests.python.notifications.sides import Async, Calls, Sync
from tests.waiting import wait_until

Make = Callable[..., Sync]


@pytest.fixture
def prefix(queue_name: str) -> str:
    """Return a prefix of channels that no other test uses."""
    return queue_name


@pytest.fixture(params=[Sync, Async])
def make(request: pytest.FixtureRequest, redis_url: str, prefix: str) -> Iterator[Make]:
    """Make further objects; they are closed after the test."""
    made: list[Sync] = []

    def new(url: str = redis_url) -> Sync:
        made.append(request.param(url, prefix))
        return made[-1]

    yield new
    for side in made:
        side.end()


@pytest.fixture
def side(make: Make) -> Sync:
    return make()


@pytest.fixture
def publish(redis: Redis, prefix: str) -> Callable[[str, str], int]:
    """Publish as another program does."""
    return lambda channel, message: redis.publish(f"{prefix}:ext:{channel}", message)


def subscribed(redis: Redis, prefix: str, channel: str) -> int:
    """Return how many connections have subscribed to a channel."""
    return redis.pubsub_numsub(f"{prefix}:ext:{channel}")[0][1]


def passed(side: Sync, channel: str = "sched") -> None:
    """Wait until all messages before this moment have led to their calls."""
    seen = Calls()
    stop = side.listen(channel, "fence", seen)
    side.publish(channel, "fence")
    wait_until(lambda: seen.count)
    stop()


def test_listen_returns_after_the_server_has_confirmed(side: Sync, publish: Any) -> None:
    for channel in ("sched", "chainc", "owls"):
        side.listen(channel, "a:1", Calls())
        assert publish(channel, "nobody") == 1


def test_a_message_calls_those_who_listen_to_it_and_nobody_else(side: Sync, publish: Any) -> None:
    mine, also, other, elsewhere, longer = (Calls() for _ in range(5))
    side.listen("sched", "video", mine)
    side.listen("sched", "video", also)
    side.listen("sched", "mail", other)
    side.listen("owls", "video:7", elsewhere)
    side.listen("sched", "video:7", longer)
    publish("sched", "video")
    wait_until(lambda: mine.count and also.count)
    passed(side)
    assert [calls.count for calls in (mine, also, other, elsewhere, longer)] == [1, 1, 0, 0, 0]


def test_every_message_is_a_call(side: Sync, publish: Any) -> None:
    calls = Calls()
    side.listen("sched", "a", calls)
    for _ in range(20):
        publish("sched", "a")
    wait_until(lambda: calls.count == 20)


def test_a_callback_with_a_parameter_gets_the_key(side: Sync, publish: Any) -> None:
    got: list[str] = []
    done = threading.Event()
    side.listen("chainc", "video:7", got.append)
    side.listen("chainc", "video:7", lambda *, further=1: got.append("no argument"))
    side.listen("chainc", "video:7", done.set)
    publish("chainc", "video:7")
    wait_until(lambda: len(got) == 2 and done.is_set())
    assert sorted(got) == ["no argument", "video:7"]


def test_publish_reaches_other_objects_and_returns_how_many(side: Sync, make: Make, redis: Redis, prefix: str) -> None:
    calls, other = Calls(), Calls()
    make().listen("sched", "a", calls)
    side.listen("sched", "a", other)
    with redis.pubsub() as foreign:
        foreign.subscribe(f"{prefix}:ext:sched")
        wait_until(lambda: subscribed(redis, prefix, "sched") == 2)
        assert side.publish("sched", "a") == 2
        wait_until(lambda: calls.count == other.count == 1)


def test_all_listeners_of_a_process_share_one_connection(side: Sync, make: Make, redis: Redis, prefix: str) -> None:
    for one in (side, make()):
        for channel in ("sched", "owls"):
            one.listen(channel, "a:1", Calls())
            one.listen(channel, "b:1", Calls())
    assert subscribed(redis, prefix, "sched") == subscribed(redis, prefix, "owls") == 1


def test_nothing_is_connected_before_the_first_listener_and_after_the_last(
    side: Sync, redis: Redis, prefix: str
) -> None:
    assert subscribed(redis, prefix, "sched") == 0
    first, second = side.listen("sched", "a", Calls()), side.listen("sched", "b", Calls())
    first()
    assert subscribed(redis, prefix, "sched") == 1
    second()
    wait_until(lambda: subscribed(redis, prefix, "sched") == 0)
    again = Calls()
    side.listen("sched", "a", again)
    side.publish("sched", "a")
    wait_until(lambda: again.count == 1)


def test_a_channel_is_left_while_another_one_is_used(side: Sync, redis: Redis, prefix: str) -> None:
    side.listen("owls", "a:1", Calls())
    side.listen("sched", "a", Calls())()
    wait_until(lambda: subscribed(redis, prefix, "sched") == 0)
    assert subscribed(redis, prefix, "owls") == 1


def test_a_listener_that_was_stopped_is_not_called(side: Sync, publish: Any) -> None:
    stopped, kept = Calls(), Calls()
    stop = side.listen("sched", "a", stopped)
    side.listen("sched", "a", kept)
    stop()
    publish("sched", "a")
    wait_until(lambda: kept.count)
    passed(side)
    assert stopped.count == 0


def test_stopping_twice_and_after_close_does_nothing(side: Sync, make: Make, publish: Any) -> None:
    calls, late = Calls(), Calls()
    stop = side.listen("sched", "a", calls)
    stop()
    side.listen("sched", "a", late)
    stop()
    publish("sched", "a")
    wait_until(lambda: late.count)
    other = make()
    stop_other = other.listen("sched", "a", Calls())
    other.close()
    stop_other()
    assert calls.count == 0


def test_a_callback_may_stop_itself_and_others(side: Sync, publish: Any) -> None:
    stops: list[Callable[[], None]] = []
    calls: list[str] = []

    def callback() -> None:
        calls.append("called")
        for stop in stops:
            stop()

    stops.append(side.listen("sched", "a", callback))
    stops.append(side.listen("sched", "never", callback))
    for _ in range(3):
        publish("sched", "a")
    wait_until(lambda: calls)
    passed(side)
    assert calls == ["called"]


def test_a_callback_may_listen_and_close(redis_url: str, make: Make, side: Sync) -> None:
    """It may call the object that calls it; in the synchronous API without a deadlock."""
    done = threading.Event()

    def plain() -> None:
        side.notifications.listen("sched", "b", Calls())
        side.notifications.close()
        done.set()

    async def coroutine() -> None:
        await side.notifications.listen("sched", "b", Calls())
        await side.notifications.close()
        done.set()

    side.listen("sched", "a", coroutine if isinstance(side, Async) else plain)
    side.publish("sched", "a")
    assert done.wait(20)
    with pytest.raises(errors.ClosedError):
        side.publish("sched", "a")


def test_a_callback_that_raises_is_logged_and_harms_nobody(
    side: Sync, publish: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ValueError("broken")

    calls = Calls()
    side.listen("sched", "a", broken)
    side.listen("sched", "a", calls)
    publish("sched", "a")
    publish("sched", "a")
    wait_until(lambda: calls.count == 2)
    wait_until(lambda: caplog.messages.count("The callback for 'a' failed") == 2)


def test_after_a_reconnect_every_callback_is_called_once(side: Sync, make: Make, redis: Redis) -> None:
    calls = [Calls() for _ in range(3)]
    side.listen("sched", "a", calls[0])
    side.listen("owls", "b:1", calls[1])
    make().listen("sched", "c", calls[2])
    passed(side)
    redis.client_kill_filter(_type="pubsub")
    wait_until(lambda: all(one.count for one in calls))
    side.publish("sched", "a")
    wait_until(lambda: calls[0].count == 2)
    passed(side)
    assert [one.count for one in calls] == [2, 1, 1]


def test_an_unusable_argument_is_refused_before_anything_is_sent(side: Sync, redis: Redis, prefix: str) -> None:
    wrong: list[tuple[Any, Any, Any]] = [
        ("shced", "a", Calls()),
        (None, "a", Calls()),
        ("sched", "", Calls()),
        ("sched", 7, Calls()),
        ("sched", "video:", Calls()),
        ("chainc", "video", Calls()),
        ("owls", ":7", Calls()),
        ("sched", "\ud800", Calls()),
        ("sched", "a", None),
        ("sched", "a", lambda one, two: None),
    ]
    for channel, key, callback in wrong:
        with pytest.raises(errors.InvalidOptionError):
            side.listen(channel, key, callback)
    with pytest.raises(errors.InvalidOptionError, match="Did you mean 'sched'"):
        side.publish("shced", "a")
    with pytest.raises(errors.InvalidOptionError, match="must be the queue and the id of a job for the channel chainc"):
        side.listen("chainc", "7", Calls())
    with pytest.raises(errors.InvalidOptionError, match=r"no events such as 'sched': use listen\(channel"):
        side.notifications.on("sched", print)
    for message in ("", b"a", None):
        with pytest.raises(errors.InvalidOptionError):
            side.publish("sched", message)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidOptionError, match="message must have at most 100,000 characters, not 100,001"):
        side.publish("sched", "x" * 100_001)
    assert subscribed(redis, prefix, "sched") == 0


def test_closing_twice_is_allowed_and_later_calls_raise(side: Sync, redis: Redis, prefix: str) -> None:
    calls = Calls()
    side.listen("sched", "a", calls)
    side.close()
    side.close()
    with pytest.raises(errors.ClosedError):
        side.listen("sched", "a", calls)
    with pytest.raises(errors.ClosedError):
        side.publish("sched", "a")
    wait_until(lambda: subscribed(redis, prefix, "sched") == 0)
    assert calls.count == 0


def test_messages_that_make_no_sense_call_nobody(side: Sync, redis: Redis, prefix: str, publish: Any) -> None:
    calls = Calls()
    side.listen("sched", "a", calls)
    for message in ("", "b", " a", "a ", "A", "x" * 100_000):
        publish("sched", message)
    redis.publish(f"{prefix}:ext:sched", b"\xff\xfe")
    redis.publish(f"{prefix}:ext:other", "a")
    passed(side)
    assert calls.count == 0


def test_keys_may_have_any_letters(side: Sync, publish: Any) -> None:
    calls = Calls()
    key = "Größe: 10 % \n\u2603 😀"
    side.listen("chainc", key, calls)
    publish("chainc", key)
    wait_until(lambda: calls.count == 1)


def test_many_keys_are_kept_apart(side: Sync, publish: Any) -> None:
    calls = [Calls() for _ in range(300)]
    stops = [side.listen("chainc", f"video:{number}", one) for number, one in enumerate(calls)]
    publish("chainc", "video:7")
    publish("chainc", "video:299")
    wait_until(lambda: calls[7].count and calls[299].count)
    assert sum(one.count for one in calls) == 2
    for stop in stops:
        stop()


def test_the_repr_has_no_password(make: Make, redis_url: str) -> None:
    side = make(redis_url.replace("//", "//:s3cret@"))
    assert "s3cret" not in repr(side.notifications) and "s3cret" not in repr(side.notifications.opts)
