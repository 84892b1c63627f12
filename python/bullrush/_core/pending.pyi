"""Operations that run on the native thread, and how a thread or an event loop waits for them."""

from types import GenericAlias
from typing import Any, Generic, TypeVar, final

_T = TypeVar("_T", covariant=True)

@final
class Completions:
    """Wakes an asyncio loop when operations finish: one file descriptor for all of them."""

    def __new__(cls) -> Completions: ...
    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a token is ready."""
    def drain(self) -> list[int]:
        """Return the tokens that became ready and clear the descriptor."""

@final
class Pending(Generic[_T]):
    """One operation that runs on the native thread."""

    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def wait(self, timeout_ms: int | None = None) -> _T:
        """Block without the GIL until the result is there. The main thread handles signals meanwhile.

        Raises:
            TimeoutError: not done within ``timeout_ms``; the operation goes on.
        """
    def done(self) -> bool: ...
    def result(self) -> _T:
        """Return the result or raise the error of a finished operation."""
    def notify(self, completions: Completions, token: int) -> None:
        """Add ``token`` to ``completions`` when done (at once if it is done already)."""
    def abandon(self) -> None:
        """Say that nobody will take the result.

        An event or a job in it goes to the next caller; other operations just go on.
        """
