"""Handlers that raise exceptions whose attributes cannot be read."""

from typing import Any, NoReturn

from bullrush import Job, aio


class LooksAttributesUp(Exception):
    def __getattr__(self, name: str) -> Any:
        return self.__dict__["payload"][name]  # KeyError, where Python expects AttributeError


class ExitsWhenShown(Exception):
    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__


class HidesItsClass(BaseException):
    @property
    def __class__(self) -> type:
        raise RuntimeError


class Secretive(type):
    @property
    def __name__(cls) -> str:
        raise ValueError


class Nameless(Exception, metaclass=Secretive):
    def __str__(self) -> str:
        raise ValueError


class Unhashable:
    def __repr__(self) -> str:
        raise ValueError

    def __hash__(self) -> int:
        raise ValueError

    def __eq__(self, other: object) -> bool:
        raise ValueError


class RefusesNotes(Exception):
    @property
    def __notes__(self) -> NoReturn:
        raise KeyboardInterrupt


class RefusesAttributes(Exception):
    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise OSError

    def __reduce__(self) -> NoReturn:
        raise SystemExit


class Untraceable(Exception):
    @property
    def __traceback__(self) -> NoReturn:
        raise ValueError


def errors() -> list[BaseException]:
    return [
        LooksAttributesUp("no"), ExitsWhenShown("no"), HidesItsClass("no"), Nameless("no"), RefusesNotes("no"),
        RefusesAttributes("no"), Exception(Unhashable()), SystemExit(3), SystemExit(Unhashable()),
        GeneratorExit("no"), Untraceable("no"),
    ]  # fmt: skip


def plain(job: Job) -> NoReturn:
    raise errors()[job.data]


async def coroutine(job: aio.Job) -> NoReturn:
    raise errors()[job.data]


def batch(jobs: list[Job]) -> list[BaseException]:
    return [errors()[job.data] for job in jobs]


def broken_batch(jobs: list[Job]) -> NoReturn:
    raise errors()[jobs[0].data]


async def coroutine_batch(jobs: list[aio.Job]) -> NoReturn:
    raise errors()[jobs[0].data]


async def coroutine_of_a_batch(jobs: list[aio.Job]) -> list[BaseException]:
    return [errors()[job.data] for job in jobs]
