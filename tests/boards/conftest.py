"""A browser for all tests, and a board for each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue

from .browser import HERE, Browser, BullBoard, find_chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs a browser, which all of them share."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.boards)
            item.add_marker(pytest.mark.xdist_group("boards"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = find_chromium()
    assert chromium is not None
    browser = Browser(chromium, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def queue(redis_url: str, queue_name: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url) as queue:
        yield queue


@pytest.fixture
def open_board(browser: Browser, redis_url: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., BullBoard]]:
    """Serve bull-board over queues; the page is kept as a picture when the test ends."""
    boards: list[BullBoard] = []

    def open_over(*queues: str) -> BullBoard:
        boards.append(BullBoard(browser, redis_url, *queues))
        return boards[-1]

    yield open_over
    for board in boards:
        board.screenshot(request.node.name)
        board.close()


@pytest.fixture
def board(open_board: Callable[..., BullBoard], queue: Queue, redis: Redis, tmp_path: Path) -> BullBoard:
    """bull-board over the test's queue."""
    return open_board(queue.name)
