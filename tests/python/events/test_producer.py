"""Publishing custom events."""

from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import QueueEventsProducer, errors


def test_a_published_event_is_received_with_its_fields(redis_url: str, queue_name: str, follow: Callable) -> None:
    events = follow()
    with QueueEventsProducer(queue_name, url=redis_url) as producer:
        producer.publish_event("paid", jobId="7", amount=12.5, customer="Ada", tags=["a", "b"], none=None)
    event = next(iter(events))
    assert dict(event) == {
        "event": "paid",
        "jobId": "7",
        "amount": "12.5",
        "customer": "Ada",
        "tags": '["a","b"]',
        "none": "null",
    }
    assert (event.event, event.job_id, event.customer) == ("paid", "7", "Ada")


def test_the_stream_keeps_about_as_many_events_as_asked_for(redis: Redis, redis_url: str, queue_name: str) -> None:
    with QueueEventsProducer(queue_name, url=redis_url) as producer:
        for number in range(300):
            producer.publish_event("tick", max_events=10, number=number)
        assert redis.xlen(producer.keys["events"]) < 150
        with pytest.raises(errors.InvalidOptionError, match="'event'"):
            producer.publish_event("tick", event="x")
        assert redis.exists(producer.keys["meta"]) == 0
