"""Routes that end, and a producer of theirs that knows nothing of it."""

from bullrush import Queue
from tests.interop.sides.their_queue import TheirQueue

from .our_worker import our_worker

TARGET = {"capabilities": ["cuda", "gpu"]}


def test_their_job_in_a_route_that_has_ended_brings_it_back(node, ours: Queue, redis, redis_url):
    route = ours.route(TARGET)
    theirs = TheirQueue(node, route.name)
    for _ in range(2):
        route.wait_until_ready()
        route.obliterate()
        assert redis.hkeys(f"bull:{ours.name}:ext:routes") == []
        job = theirs.add("a", 1, removeOnComplete=False)
        # Its first look at the routes brings it back; a worker that runs looks every minute.
        with our_worker(ours.name, redis_url, lambda job: "done", profile=TARGET):
            assert route.get_job(job).wait_until_finished(timeout=20_000) == "done"
        assert redis.hkeys(f"bull:{ours.name}:ext:routes") == ["cap.cuda+gpu"]
    theirs.close()
