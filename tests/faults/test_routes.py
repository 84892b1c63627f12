"""Routes on a cluster, and on a server that refuses to register them."""

from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.errors import QueueNameError, RedisServerError

GPU: Any = {"capabilities": ["gpu"]}


@pytest.mark.parametrize("name", ["video", "{video}"])
def test_a_target_without_a_hash_tag_in_the_prefix_is_refused_by_a_cluster(cluster: str, name: str) -> None:
    with Queue(name, url=cluster) as queue, Redis.from_url(cluster) as redis:
        with pytest.raises(QueueNameError, match=r"hash tag.*\{bull\}"):
            queue.add("a", target=GPU)
        with pytest.raises(QueueNameError, match=r"hash tag.*\{bull\}"):
            queue.add_bulk([{"name": "a", "opts": {"target": GPU}}])
        assert redis.keys("bull:*") == []


def test_routes_work_on_a_cluster_with_a_hash_tag(cluster: str) -> None:
    prefix, name = "{bull}", "video"
    with Queue(name, url=cluster, prefix=prefix) as queue, FlowProducer(url=cluster, prefix=prefix) as flows:
        queue.add_bulk([{"name": "a"}, {"name": "a", "opts": {"target": GPU}}])
        child: Any = {"name": "c", "queue_name": name, "opts": {"target": {"region": ["eu"], "capabilities": ["gpu"]}}}
        flows.add({"name": "root", "queue_name": name, "opts": {"target": GPU}, "children": [child]})
        queue.pause()
        queue.resume()
        profile: Any = {"capabilities": ["gpu"], "region": ["eu"]}
        worker = Worker(name, lambda job: None, url=cluster, prefix=prefix, profile=profile)
        assert worker.run(until="drained").completed == 4
        assert queue.get_job_counts("completed", routes=True) == {"completed": 4}
        queue.obliterate()


def test_a_job_is_not_added_where_workers_would_not_find_it(server: Any, own_redis: Redis) -> None:
    own_redis.execute_command("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", "-set")
    with Queue("video", url=server.url.replace("redis://", "redis://limited:secret@")) as queue:
        for _ in range(2):
            with pytest.raises(RedisServerError, match="NOPERM"):
                queue.add("a", target=GPU)
        assert own_redis.keys("*:wait") == []
        assert own_redis.keys("*:ext:*") == []
        own_redis.execute_command("ACL", "SETUSER", "limited", "+set")
        assert queue.add("a", target=GPU).id == "1"
        assert own_redis.hkeys("bull:video:ext:routes") == ["cap.gpu"]
