"""Closing at the end of a ``with`` or ``async with`` block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bullrush.base.operation import Async, Blocking

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

# `close` is not declared here, and not by a protocol: type checkers differ on whether an `operation` is a method.


class BlockingContext(Blocking):
    """Base of classes whose operations block, and which close at the end of a ``with`` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        closable: Any = self
        closable.close()


class AsyncContext(Async):
    """Base of classes whose operations are awaited, and which close at the end of an ``async with`` block."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        closable: Any = self
        await closable.close()
