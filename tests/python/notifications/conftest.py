"""Two users of Redis: the messages of one are delivered, those of the other one are all lost."""

import pytest
from redis import Redis


@pytest.fixture(params=["delivered", "lost"])
def messages(request: pytest.FixtureRequest) -> str:
    """Return whether the messages of this test are delivered or lost."""
    return request.param


@pytest.fixture
def url(messages: str, redis_url: str, redis: Redis) -> str:
    """Return the URL of a user whose messages are delivered or lost: Redis refuses to publish the latter."""
    if messages == "delivered":
        return redis_url
    redis.acl_setuser(
        "silent", enabled=True, passwords=["+s3cret"], keys=["*"], channels=["*"], commands=["+@all", "-publish"]
    )
    return redis_url.replace("redis://", "redis://silent:s3cret@")
