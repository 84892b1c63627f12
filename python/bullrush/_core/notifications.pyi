"""Messages between programs."""

from typing import final

from .pending import Pending

@final
class CoreNotifications:
    """Listeners of one process, whose notices one caller reads."""

    def __new__(cls, url: str, prefix: str) -> CoreNotifications: ...
    def listen(self, channel: str, key: str, *, quiet: bool) -> int:
        """Listen to the messages of a channel that are equal to ``key``; return the listener's number.

        Nothing is waited for. ``quiet``: the first confirmation of the subscription is no notice.
        """
    def confirmed(self, number: int, timeout_ms: int) -> Pending[None]:
        """Wait until the server has confirmed the subscription of a listener.

        Raises:
            ConnectionLostError: not within ``timeout_ms``. It is tried again all the same.
            RedisServerError: the server refuses it. It is tried again all the same.
        """
    def stop(self, number: int) -> None:
        """Remove a listener."""
    def next(self, timeout_ms: int | None = None) -> Pending[list[int] | None]:
        """Wait for notices: the numbers of their listeners; [] after ``timeout_ms``, None once closed.

        For one caller at a time.

        A notice is a message, or a subscription that was made again: messages may have been missed.
        """
    def publish(self, channel: str, message: str, timeout_ms: int) -> Pending[int]:
        """Publish a message; the result is how many connections got it."""
    def close(self) -> None:
        """Remove all listeners and end `next`."""
