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
from bullrush.values.shown import shown


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


def delay_in_ms(value: object, name: str = "delay") -> int:
    """Return the delay before a retry in ms.

    Args:
        value: the delay.
        name: its name in the error.

    Raises:
        InvalidOptionError: it is negative, or neither whole milliseconds nor a timedelta.
    """
    checked = checks.milliseconds(name, value)
    if checked < 0:
        raise InvalidOptionError(f"{name} must not be negative, not {value!r}")
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

#: Gets the exception of a handler. Returns `RETRY` or True, `FAIL` or False, ``Retry(delay=...)``, or None: it has no
#: opinion.
Classifier: TypeAlias = Callable[[BaseException], Verdict | bool | None]


def read_verdict(option: str, answered: object) -> Verdict | None:
    """Return what a classifier decided.

    Args:
        option: the option that the classifier was given as; the first words of the error.
        answered: what it returned.

    Raises:
        InvalidOptionError: it is not a verdict.
    """
    if answered is None:
        return None
    if isinstance(answered, bool):
        return RETRY if answered else FAIL
    # By their own types: the attributes of a subclass may be anything.
    if type(answered) is Fail:
        return FAIL
    if type(answered) is Retry:
        # Checked again: a program may have changed it.
        return RETRY if answered.delay is None else Retry(delay_in_ms(answered.delay, f"the delay of {option}"))
    raise InvalidOptionError(
        f"{option} must return RETRY or True, FAIL or False, Retry(delay=...), or None, not {shown(answered)}"
    )
