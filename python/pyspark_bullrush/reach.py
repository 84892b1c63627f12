"""A quick look at Redis while Spark plans, so that a wrong address is told before any task starts."""

from __future__ import annotations

from typing import Final

from bullrush.spark.address import Address

#: ms in which Redis must answer before the tasks start.
_TIMEOUT: Final = 3_000


def check_reachable(address: Address) -> None:
    """Check on the driver that the tasks will find Redis. An address that only the executors know is not checked.

    Raises:
        InvalidOptionError: the URL has a wrong form.
        ConnectionLostError: nobody answers there within 3 s.
        RedisServerError: Redis refuses, for example the password.
    """
    if address.is_known_here():
        with address.open(timeout=_TIMEOUT) as queue:
            queue.wait_until_ready()


def check_url(address: Address) -> None:
    """Check on the driver that the URL has the form of one. An address that only the executors know is not checked.

    Raises:
        InvalidOptionError: it has not.
    """
    if address.is_known_here():
        address.open().close()
