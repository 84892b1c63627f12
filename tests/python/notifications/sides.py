"""`Notifications` of both APIs, called in the same way."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import bullrush
from bullrush import aio


class Calls:
    """A callback that counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


class Sync:
    """`bullrush.Notifications`."""

    def __init__(self, url: str, prefix: str) -> None:
        self.notifications: Any = bullrush.Notifications(url, prefix)

    def listen(self, channel: str, key: str, callback: Any) -> Callable[[], None]:
        return self.notifications.listen(channel, key, callback)

    def publish(self, channel: str, message: str) -> int:
        return self.notifications.publish(channel, message)

    def close(self) -> None:
        self.notifications.close()

    def end(self) -> None:
        self.close()


class Async(Sync):
    """`bullrush.aio.Notifications`, on an event loop in a thread."""

    def __init__(self, url: str, prefix: str) -> None:
        self.notifications = aio.Notifications(url, prefix)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def on_loop(self, coroutine: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(30)

    def listen(self, channel: str, key: str, callback: Any) -> Callable[[], None]:
        return self.on_loop(self.notifications.listen(channel, key, callback))

    def publish(self, channel: str, message: str) -> int:
        return self.on_loop(self.notifications.publish(channel, message))

    def close(self) -> None:
        self.on_loop(self.notifications.close())

    def end(self) -> None:
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
