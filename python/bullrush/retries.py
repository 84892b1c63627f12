"""What a classifier says about an exception: try again, try again after a delay, or fail for good.

Who asks it: `bullrush.job.failure.decide_retry`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.checks import Duration


@dataclass(frozen=True)
class Retry:
    """Try the job again if it has attempts left.

    Attributes:
        delay: when, in ms or as a timedelta, instead of the job's backoff; None keeps the backoff.
    """

    delay: Duration | None = None

    def __post_init__(self) -> None:
        if self.delay is not None:
            object.__setattr__(self, "delay", delay_in_ms(self.delay))


def delay_in_ms(value: object) -> int:
    """Return the delay before a retry in ms.

    Raises:
        InvalidOptionError: it is negative, or neither whole milliseconds nor a timedelta.
    """
    checked = checks.milliseconds("delay", value)
    if checked < 0:
        raise InvalidOptionError(f"delay must not be negative, not {value!r}")
    return checked


@dataclass(frozen=True)
class Fail:
    """Fail the job for good, whatever attempts are left."""


#: Try the job again after its backoff, if it has attempts left.
RETRY: Final = Retry()
#: Fail the job for good.
FAIL: Final = Fail()

#: What a classifier decides.
Verdict: TypeAlias = Retry | Fail

#: Gets the exception of a handler. Returns `RETRY`, `FAIL`, ``Retry(delay=...)``, or None: it has no opinion.
Classifier: TypeAlias = Callable[[BaseException], Verdict | None]
