"""Errors do not show the data of jobs, also when it stands in a wrong place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, QueueEventsProducer
from bullrush.errors import BullrushError
from bullrush.url import masked

SECRET = "hidden"
DATA = {"card": SECRET}
BAD = f"{SECRET}\ud800"

CALLS: dict[str, tuple[Callable[[Queue], object], str]] = {
    "template": (lambda queue: queue.upsert_job_scheduler("s", {"every": 1000}, [DATA]), "opts, not list"),
    "options of a template": (
        lambda queue: queue.upsert_job_scheduler("s", {"every": 1000}, {"opts": [DATA]}),
        "opts must be a dict of options, not list",
    ),
    "repeat": (lambda queue: queue.upsert_job_scheduler("s", [DATA]), "repeat must be a dict of options, not list"),
    "id of a scheduler": (lambda queue: queue.upsert_job_scheduler(DATA, {"every": 1000}), "a text, not dict"),
    "options of a bulk": (lambda queue: queue.add_bulk([{"name": "n", "opts": [DATA]}]), "options, not list"),
    "options of a flow": (
        lambda queue: FlowProducer(url=queue._url).add({"name": "n", "queue_name": queue.name, "opts": [DATA]}),
        "opts must be a dict of options, not list",
    ),
    "target": (lambda queue: queue.add("n", target=SECRET), "target must be a dict of .*, not str"),
    "capabilities": (lambda queue: queue.add("n", target={"capabilities": DATA}), "a list of texts, not dict"),
    "deduplication": (lambda queue: queue.add("n", deduplication=[DATA]), "a dict of id, .*, not list"),
    "delay": (lambda queue: queue.add("n", delay=DATA), "a timedelta, not dict"),
    "priority": (lambda queue: queue.add("n", priority=DATA), "priority must be a whole number, not dict"),
    "a long text": (lambda queue: queue.add("n", attempts=SECRET * 20), "not a text of 120 characters"),
    "key of data": (lambda queue: queue.add("n", {(SECRET,): 1}), "data: a key is tuple"),
    "row of a log": (lambda queue: queue.add("n").log(BAD), r"a lone surrogate, '\\ud800', .*: character 7 of 7"),
    "row beside progress": (lambda queue: queue.add("n").update_progress(5, BAD), "character 7 of 7"),
    "field of an event": (
        lambda queue: QueueEventsProducer(queue.name, url=queue._url).publish_event("e", x=BAD),
        "x has a lone surrogate",
    ),
    "url": (lambda queue: Queue(queue.name, url=f"redis://:{BAD}@localhost"), "url has a lone surrogate"),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_error_names_the_type_of_data_in_a_wrong_place_and_not_the_data(
    queue: Queue, redis: Redis, call: str
) -> None:
    refused, text = CALLS[call]
    with pytest.raises(BullrushError, match=text) as caught:
        refused(queue)
    assert SECRET not in str(caught.value)
    assert not redis.exists(queue.to_key("repeat"), queue.to_key("events:e"))


def test_what_an_option_is_not_is_still_shown(queue: Queue) -> None:
    for wrong, text in (("3", "'3'"), (1.5, "1.5"), (None, "None"), (True, "True")):
        with pytest.raises(BullrushError, match=f"concurrency must be a whole number, not {text}"):
            queue.set_global_concurrency(wrong)  # type: ignore[arg-type]
    assert SECRET[:5] not in masked(f"redis://h/0?protocol={SECRET[:5]}&db={SECRET[:5]}")
    assert masked("redis://h/0?protocol=resp3") == "redis://h/0?protocol=resp3"


def test_a_number_that_node_cannot_represent_is_reported_with_the_range(queue: Queue) -> None:
    for number in (2**70, 10**5000, -(2**53)):
        with pytest.raises(BullrushError, match="payload_limit must be a whole number up to 9,007,199,254,740,991"):
            Queue(queue.name, url=queue._url, payload_limit=number)
