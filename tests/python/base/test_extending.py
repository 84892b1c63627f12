"""What packages on top of bullrush are told when they use its seam wrongly: the error shows the right line."""

from typing import Annotated, TypedDict

import pytest

from bullrush.extending import Option, checked_options, checks, declare_options, operation, options_by_name


def test_an_option_without_a_check_gets_an_error_with_the_line_to_write() -> None:
    with pytest.raises(TypeError, match=r"Mail\.retries says nothing of its check: write `retries: Annotated\[int, Op"):

        @declare_options
        class Mail(TypedDict, total=False):
            retries: int


def test_a_check_in_the_place_of_an_option_gets_that_error_too() -> None:
    with pytest.raises(TypeError, match=r"Mail\.retries says nothing of its check"):

        @declare_options
        class Mail(TypedDict, total=False):
            retries: Annotated[int, checks.whole]


def test_options_of_a_class_that_was_not_declared_are_refused() -> None:
    class Mail(TypedDict, total=False):
        retries: Annotated[int, Option(checks.whole, doc="how often")]

    with pytest.raises(TypeError, match="Mail is no class of options: put @declare_options above it"):
        checked_options(Mail, {}, "send()")


def test_an_operation_that_is_no_coroutine_function_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match="@operation is for `async def`, which 'backlog' is not"):

        @operation
        def backlog(self: object) -> int:
            return 1


def test_an_operation_needs_no_second_decorator_for_mistakes_of_its_callers() -> None:
    with pytest.raises(TypeError, match="leave @options_by_name out"):

        @options_by_name
        @operation
        async def backlog(self: object) -> int:
            return 1
