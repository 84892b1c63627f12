"""The program of `user_tasks.py` with mistakes; type checkers have to name each line with ``# wrong`` and no other."""

import asyncio
from datetime import datetime

from bullrush import Depends, Tasks, Worker, enqueue_many


class Pool: ...


def open_pool() -> Pool:
    return Pool()


tasks = Tasks("mail")
Tasks("mail", default_job_options={"atempts": 3})  # wrong
Tasks(queue_name="mail")  # wrong


@tasks.task(attempts=5, timeout=1_000)
async def welcome(user_id: int, *, lang: str = "en", pool: Pool = Depends(open_pool)) -> str:
    return lang


@tasks.task
def digest(day: datetime) -> bool:
    return True


@tasks.task(atempts=5)  # wrong
def typo() -> None: ...


@tasks.cron("0 9 * * *")  # wrong
def without_a_time_zone() -> None: ...


@tasks.task
def needs_text(*, text: str = Depends(open_pool)) -> None: ...  # wrong


welcome.enqueue("7")  # wrong
welcome.enqueue()  # wrong
welcome.enqueue(7, land="de")  # wrong
welcome.enqueue(7, delay=60_000)  # wrong
welcome.using(delay="soon").enqueue(7)  # wrong
welcome.using(delay=60_000).enqueue("7")  # wrong
number: int = welcome.enqueue(7).result()  # wrong
flag: str = digest(datetime.now())  # wrong
text: str = welcome(7, pool=Pool())  # wrong
digest.enqueue("2024-01-01")  # wrong
enqueue_many([welcome, digest])  # wrong
enqueue_many([welcome.bind("7")])  # wrong
Worker(tasks, concurrency="8")  # wrong


async def forgets_to_await() -> str:
    return welcome.aenqueue(7).result()  # wrong


asyncio.run(forgets_to_await())
