"""The progress bar reads only Redis, so it is tested without Spark."""

import re
from collections.abc import Iterator

import pytest

from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import InvalidOptionError
from bullrush.spark import progress
from tests.waiting import wait_until


@pytest.fixture
def other(queue_name: str) -> Iterator[Queue]:
    """Return the queue of the same name on another server."""
    with EmbeddedRedis(port=0, password="") as server, Queue(queue_name, url=server.url) as queue:
        yield queue


def run(queue: Queue, url: str, jobs: int, **options: object) -> None:
    with Worker(queue.name, lambda job: None, url=url, **options) as worker:  # type: ignore[arg-type]
        worker.run(until=None, max_jobs=jobs, max_seconds=20)


def test_the_bar_shows_rate_and_time_left(queue: Queue, redis_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    queue.add_bulk([{"name": "x"}] * 200)
    with progress(queue.name, url=redis_url, every=0.01) as bar:
        assert (bar.n, bar.total) == (0, 200)
        run(queue, redis_url, 50)
        shown = wait_until(lambda: bar.n == 50 and bar.format_dict["rate"] and bar.format_dict, "a rate of 50 jobs")
        assert 0 < (shown["total"] - shown["n"]) / shown["rate"] < 60
    assert "25%" in (text := capsys.readouterr().err)
    assert " jobs/s" in text and "150 waiting, 0 active, 50 completed, 0 failed" in text
    assert re.search(r"\[\d\d:\d\d<\d\d:\d\d, ", text), "elapsed and left"


@pytest.mark.parametrize("kept", [True, 10, False])
def test_finished_jobs_count_whether_or_not_they_are_kept(queue: Queue, redis_url: str, kept: bool | int) -> None:
    queue.add_bulk([{"name": "x"}] * 100)
    with progress(queue.name, url=redis_url) as bar:
        run(queue, redis_url, 100, remove_on_complete=kept)
    assert (bar.n, bar.total) == (100, 100)


def test_jobs_that_come_later_make_the_bar_longer(queue: Queue, redis_url: str) -> None:
    queue.add_bulk([{"name": "x"}] * 20)
    with progress(queue.name, url=redis_url) as bar:
        queue.add_bulk([{"name": "x"}] * 30)
        run(queue, redis_url, 40)
    assert (bar.n, bar.total) == (40, 50)


def test_added_jobs_count_also_when_they_are_gone_and_when_they_existed(queue: Queue, redis_url: str) -> None:
    queue.add("x", job_id="one")
    with progress(queue.name, url=redis_url, count="added") as bar:
        queue.add_bulk([{"name": "x"}] * 60)
        run(queue, redis_url, 61, remove_on_complete=True)
        queue.add_bulk([{"name": "x", "opts": {"job_id": "two"}}] * 2)
    assert (bar.n, bar.total) == (62, None)


def test_added_jobs_with_a_total_show_how_much_is_left(
    queue: Queue, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(queue.name, url=redis_url, count="added", total=200, every=0.01) as bar:
        queue.add_bulk([{"name": "x"}] * 50)
        wait_until(lambda: bar.n == 50)
    assert (bar.n, bar.total) == (50, 200)
    assert re.search(r" 25%\|.*50\.0/200 \[\d\d:\d\d<\d\d:\d\d, ", capsys.readouterr().err), "percentage and time left"


def test_several_servers_have_one_bar(queue: Queue, other: Queue, redis_url: str) -> None:
    other_url = str(other.opts["url"])
    for one in (queue, other):
        one.add_bulk([{"name": "x"}] * 30)
    with progress(queue.name, urls=[redis_url, other_url]) as bar:
        run(queue, redis_url, 30)
        run(other, other_url, 10)
    assert (bar.n, bar.total) == (40, 60)


def test_an_outage_does_not_end_the_block(queue_name: str) -> None:
    with EmbeddedRedis(port=0, password="") as server:
        with Queue(queue_name, url=server.url, timeout=1_000) as queue:
            queue.add("x")
        with progress(queue_name, url=server.url, every=0.01) as bar:
            server.stop()
    assert bar.n == 0, "and the caller goes on"


def test_wrong_arguments_are_refused(queue: Queue, redis_url: str) -> None:
    for options in (
        {"count": "done"},
        {"urls": []},
        {"urls": [redis_url] * 2},
        {"url": redis_url, "urls": [redis_url]},
    ):
        with pytest.raises(InvalidOptionError), progress(queue.name, **options):
            pass
