"""A quick look at Redis while Spark plans, so that a wrong address is reported before any task starts."""

from __future__ import annotations

from typing import Final

from bullrush.errors import ConnectionLostError, RedisServerError
from bullrush.spark.address import Address

#: ms in which Redis must answer before the tasks start.
_TIMEOUT: Final = 3_000
#: Codes of errors that stay until somebody corrects the URL or the server.
_REFUSED: Final = ("WRONGPASS", "NOAUTH", "NOPERM")


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


def check_not_refused(address: Address) -> None:
    """Check the URL and the password as `check_reachable` does, for tasks that outlive a short outage: it is no error.

    Raises:
        InvalidOptionError: the URL has a wrong form.
        RedisServerError: Redis refuses the password.
    """
    try:
        check_reachable(address)
    except ConnectionLostError:
        pass
    except RedisServerError as error:
        if error.code in _REFUSED:
            raise
