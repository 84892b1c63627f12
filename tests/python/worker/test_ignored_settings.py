"""Queue settings with invalid values: a worker reports and ignores them."""

import threading

from bullrush import Queue, Worker


def test_a_worker_emits_an_error_for_ignored_settings_and_works(redis, redis_url, queue_name):
    with Queue(queue_name, url=redis_url) as queue:
        queue.add("n")
        settings = {"concurrency": "many", "max": "10.5", "duration": "Infinity", "opts.maxLenEvents": "1e3"}
        redis.hset(f"bull:{queue_name}:meta", mapping=settings)
        reported, heard = [], threading.Event()

        def hear(error):
            reported.append(str(error))
            if len(reported) == 3:
                heard.set()

        worker = Worker(queue_name, lambda job: heard.wait(10), url=redis_url)
        worker.on("error", hear)
        assert worker.run(until="drained").completed == 1
        worker.close()
    assert [text.split(":")[0] for text in reported] == [
        f'setting concurrency of queue {queue_name} is "many", which is not a number, and is ignored',
        f'setting duration of queue {queue_name} is "Infinity", which is not a time in milliseconds, and is ignored',
        f'setting opts.maxLenEvents of queue {queue_name} is "1e3", which is not a stream length, and is ignored',
    ]
    assert "remove_global_concurrency" in reported[0]
