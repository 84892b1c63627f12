"""Redis refuses commands for a while: outcomes wait, and callers whose mistake it is get the error at once."""

import threading
import time

import pytest

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until

from .handlers import Handlers


def take_right(redis):
    redis.execute_command("ACL", "SETUSER", "default", "-evalsha")


def give_right(redis):
    redis.execute_command("ACL", "SETUSER", "default", "+evalsha")


def lock_out(redis):
    redis.config_set("requirepass", "another")
    own = redis.client_id()
    for client in redis.client_list():
        if int(client["id"]) != own:
            redis.client_kill_filter(_id=client["id"])


def let_in(redis):
    redis.config_set("requirepass", "")


@pytest.mark.parametrize(
    ("refuse", "allow", "code"),
    [(take_right, give_right, "NOPERM"), (lock_out, let_in, "NOAUTH")],
    ids=["right", "password"],
)
def test_outcomes_wait_until_redis_allows_them(refuse, allow, code, queue, own_redis, ledger, server, tmp_path, caplog):
    gate = tmp_path / "gate"
    queue.add_bulk([{"name": "gated", "data": {"gate": str(gate)}}] * 3)
    worker = Worker(queue.name, Handlers(ledger), url=server.url, concurrency=3, lock_duration=60_000)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: len(ledger.begun) == 3, "all slots are taken")
        refuse(own_redis)
        gate.touch()
        wait_until(lambda: len(ledger.ended) >= 3, "the handlers have returned")
        wait_until(lambda: code in caplog.text, "the refusal is reported")
        assert own_redis.zcard(f"bull:{queue.name}:completed") == 0
        allow(own_redis)
        wait_until(lambda: own_redis.zcard(f"bull:{queue.name}:completed") == 3, "all jobs are done")
        if "outcomes wait" in caplog.text:
            wait_until(lambda: "outcomes are stored again" in caplog.text, "that it goes on is logged, too")
    finally:
        gate.touch()
        allow(own_redis)
        worker.close()
        working.join()
    assert {int(own_redis.hget(f"bull:{queue.name}:{n}", "ats")) for n in (1, 2, 3)} == {1}


def test_a_run_ends_when_no_outcome_can_be_accepted_any_more(queue, own_redis, server, caplog):
    """The lock expires meanwhile, so another worker runs the job again in any case."""
    gate = threading.Event()
    queue.add_bulk([{"name": "quick"}] * 6)
    times = {"lock_duration": 1_000, "stalled_interval": 200, "concurrency": 4}
    worker = Worker(queue.name, lambda job: gate.wait(30), url=server.url, **times)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: own_redis.llen(f"bull:{queue.name}:active") == 4, "all slots are taken")
        take_right(own_redis)
        gate.set()
        worker.close()
        working.join()
        assert (
            "the outcomes of 4 jobs were not accepted before their locks expired: these jobs run again" in caplog.text
        )
    finally:
        give_right(own_redis)
        gate.set()
        worker.close(force=True)
        working.join()
    with Worker(queue.name, lambda job: True, url=server.url, max_stalled_count=9, **times) as other:
        assert other.run(until="drained", max_seconds=30).completed == 6
    assert queue.get_completed_count() == 6


def test_a_closing_worker_ends_although_redis_renews_the_locks_of_the_jobs_whose_outcomes_it_refuses(
    queue, own_redis, server, caplog
):
    gate = threading.Event()
    queue.add("quick")
    times = {"lock_duration": 1_500, "stalled_interval": 200}
    worker = Worker(queue.name, lambda job: gate.wait(30), url=server.url, **times)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: own_redis.llen(f"bull:{queue.name}:active"), "the job runs")
        own_redis.execute_command("ACL", "SETUSER", "default", "-xadd")
        gate.set()
        worker.close()
        working.join()
        assert "outcomes wait" in caplog.text
        assert "could not renew locks" not in caplog.text
    finally:
        own_redis.execute_command("ACL", "SETUSER", "default", "+xadd")
        gate.set()
        worker.close(force=True)
        working.join()
    with Worker(queue.name, lambda job: True, url=server.url, max_stalled_count=9, **times) as other:
        assert other.run(until="drained", max_seconds=30).completed == 1


def test_a_refusal_that_lasts_is_logged_once(queue, own_redis, server, caplog):
    """Locks must be renewed many times meanwhile."""
    done = threading.Event()
    queue.add("held")
    worker = Worker(queue.name, lambda job: done.wait(30), url=server.url, lock_duration=30_000, lock_renew_time=200)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: own_redis.llen(f"bull:{queue.name}:active"), "the job runs")
        take_right(own_redis)
        wait_until(lambda: "could not renew locks: NOPERM" in caplog.text, "it is logged")
        refused = int(own_redis.info("commandstats")["cmdstat_evalsha"]["rejected_calls"])
        wait_until(
            lambda: int(own_redis.info("commandstats")["cmdstat_evalsha"]["rejected_calls"]) > refused + 10,
            "it was tried again and again",
        )
        assert caplog.text.count("could not renew locks") == 1
    finally:
        give_right(own_redis)
        done.set()
        worker.close()
        working.join()


@pytest.fixture
def silent(queue, server, proxy):
    """Return a queue that was used before, and whose server then answers nothing."""
    through = Queue(queue.name, url=proxy.url, timeout=300)
    through.add("quick")
    proxy.swallow(True)
    yield through
    proxy.swallow(False)


def test_a_call_ends_in_time_though_no_reply_comes(silent):
    began = time.monotonic()
    with pytest.raises(errors.ConnectionLostError, match="did not answer within 300 ms"):
        silent.get_job_counts()
    with pytest.raises(errors.ConnectionLostError, match="did not answer within 300 ms"):
        silent.get_job("1")
    with pytest.raises(errors.OutcomeUnknownError, match="may or may not have been executed"):
        silent.add("quick")
    with pytest.raises(errors.OutcomeUnknownError):
        silent.pause()
    assert time.monotonic() - began < 15


def connections(redis) -> int:
    return len(redis.client_list())


def test_connections_close_with_the_last_object_that_uses_them(own_redis, server):
    before = connections(own_redis)
    for database in range(1, 11):
        url = server.url.removesuffix("/0") + f"/{database}"
        with Queue("work", url=url) as queue:
            queue.add("quick")
            Worker("work", lambda job: None, url=url).run(until="empty")
            assert queue.get_completed_count() == 1
    for _ in range(20):
        with Queue("work", url=server.url) as queue:
            queue.add("quick")
    wait_until(lambda: connections(own_redis) == before, "all are closed")


def test_the_health_of_a_worker_names_the_code_with_which_redis_refuses(queue, own_redis, server):
    with Worker(queue.name, lambda job: None, url=server.url, autorun=True) as worker:
        wait_until(lambda: worker.health().last_fetch_age is not None, "it has fetched")
        own_redis.config_set("min-replicas-to-write", 1)
        wait_until(lambda: worker.health(stuck_after=0).problems == ("refused",), "it is refused")
        assert worker.health().refusal == "NOREPLICAS"
        own_redis.config_set("min-replicas-to-write", 0)
        wait_until(lambda: worker.health().healthy, "it works again")
        assert worker.health().refusal is None
