"""Messages where Node takes part: it neither sends nor reads them, and every wait ends all the same."""

import threading

from bullrush.job.calls import end_signals
from tests.waiting import wait_until

from .our_worker import work_off


class Wait(threading.Thread):
    """Waits for a message about a job, or for the next look at it."""

    def __init__(self, job):
        super().__init__()
        self._job, self.result = job, None
        self.start()

    def run(self):
        self.result = self._job.wait_until_finished(via="notify", timeout=20_000)


def test_a_wait_for_a_job_that_a_worker_of_node_runs_ends_at_the_next_look(ours, theirs, monkeypatch):
    monkeypatch.setattr(end_signals, "RECHECK_MS", 300)
    wait = Wait(ours.add("work", {"value": 7}, wake=True))
    theirs.work()
    wait.join()
    assert wait.result == {"value": 7}


def test_a_job_that_node_added_with_the_option_wakes_its_waiter(
    ours, theirs, redis, queue_name, redis_url, monkeypatch
):
    monkeypatch.setattr(end_signals, "RECHECK_MS", 60_000)
    id = theirs.add("work", {"value": 7}, wake=True)
    wait = Wait(ours.get_job(id))
    wait_until(lambda: redis.pubsub_numsub("bull:ext:chainc")[0][1])
    work_off(queue_name, redis_url, lambda job: job.data["value"])
    wait.join()
    assert wait.result == 7


def test_node_keeps_the_option_of_a_job_that_it_runs(ours, theirs, redis):
    job = ours.add("work", {"value": 7}, wake=True, attempts=3)
    theirs.work()
    assert theirs.job(job.id)["opts"]["wake"] is True
    assert ours.get_job(job.id).opts["wake"] is True
