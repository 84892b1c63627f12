"""Commands and replies as they stand in a stream of bytes."""

from collections.abc import Iterator


def commands(buffer: bytes) -> Iterator[tuple[list[bytes], int]]:
    """Yield the whole commands at the start of a buffer, each with the position behind it."""
    at = 0
    while (command := _command(buffer, at)) is not None:
        yield command
        at = command[1]


def reply_end(buffer: bytes, at: int) -> int | None:
    """Return where the reply ends that begins here, None if it is not whole."""
    line = buffer.find(b"\r\n", at)
    if line < 0:
        return None
    end = line + 2
    if buffer[at : at + 1] == b"$":
        end += max(int(buffer[at + 1 : line]) + 2, 0)
    elif buffer[at : at + 1] == b"*":
        for _ in range(int(buffer[at + 1 : line])):
            if (inner := reply_end(buffer, end)) is None:
                return None
            end = inner
    return end if end <= len(buffer) else None


def _command(buffer: bytes, at: int) -> tuple[list[bytes], int] | None:
    line = buffer.find(b"\r\n", at)
    if line < 0:
        return None
    count, at, words = int(buffer[at + 1 : line]), line + 2, []
    for _ in range(count):
        line = buffer.find(b"\r\n", at)
        if line < 0:
            return None
        end = line + 2 + int(buffer[at + 1 : line])
        if len(buffer) < end + 2:
            return None
        words.append(buffer[line + 2 : end])
        at = end + 2
    return words, at
