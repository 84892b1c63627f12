"""Errors: their codes, their texts and their kinds. test_public_paths.py pickles every class."""

import pickle

import pytest

from bullrush import errors


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "JobNotFoundError"), (-2, "JobLockMissingError"), (-3, "JobStateError"), (-4, "PendingDependenciesError"),
        (-5, "ParentNotFoundError"), (-6, "JobLockMismatchError"), (-7, "ParentReplacedError"),
        (-8, "SchedulerJobError"),
        (-9, "FailedChildrenError"), (-10, "SchedulerCollisionError"), (-11, "SchedulerCollisionError"),
        (-99, "ResultCodeError"),
    ],
)  # fmt: skip
def test_every_result_code_has_its_class(code: int, name: str) -> None:
    error = pickle.loads(pickle.dumps(errors.from_code(code, "text")))
    assert (type(error).__name__, error.code, str(error)) == (name, code, "text")


def test_errors_of_handlers_have_bullmqs_texts() -> None:
    assert str(errors.RateLimitError()) == "bullmq:rateLimitExceeded"
    assert str(errors.UnrecoverableError()) == "bullmq:unrecoverable"
    assert str(errors.UnrecoverableError("mine")) == "mine"


def test_failed_children_are_an_unrecoverable_error() -> None:
    assert issubclass(errors.FailedChildrenError, errors.UnrecoverableError)


def test_errors_are_also_builtin_errors() -> None:
    assert issubclass(errors.ConnectionLostError, ConnectionError)
    assert issubclass(errors.InvalidOptionError, ValueError)
    assert issubclass(errors.UnknownOptionError, TypeError)
