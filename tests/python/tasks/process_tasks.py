"""Tasks for processes, which import them by name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bullrush import Depends, Middleware, Tasks


class Marking(Middleware):
    @contextmanager
    def around(self, job: Any) -> Iterator[None]:
        os.environ["BULLRUSH_TEST_AROUND"] = str(job.name)
        yield


tasks = Tasks("process-tasks", middleware=[Marking()])


def opened() -> list[int]:
    return [os.getpid()]


@tasks.task
def where(*, pids: list[int] = Depends(opened, scope="worker")) -> tuple[int, list[int], str]:
    pids.append(os.getpid())
    return os.getpid(), pids, os.environ["BULLRUSH_TEST_AROUND"]


@tasks.task
async def where_async(*, pids: list[int] = Depends(opened)) -> int:
    return pids[0]
