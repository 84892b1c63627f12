"""Jobs that an interrupted move has claimed go back to real Bull, unless the other queue has got them."""

from collections.abc import Iterator

import pytest

from bullrush import LegacyQueue, Queue
from bullrush.errors import LegacyQueueError
from bullrush.legacy.migrating.movers import source_at
from tests.interop.conftest import server_of
from tests.waiting import wait_until

from .bull_queue import LATER, add, every_bull, newest_bull


@pytest.fixture
def new(redis_url: str, queue_name: str, databases) -> Iterator[Queue]:
    """Another database is another server."""
    with Queue(queue_name, url=f"{server_of(redis_url)}/1") as queue:
        yield queue


IS_CLAIMED = r"1 job of queue \S+ is claimed by a move to \S+ at \S+/1, which"


def kill_mover(old: LegacyQueue, new: Queue, places: dict[str, str], *, arrived: int = 0) -> None:
    """Leave what a mover leaves that was killed when it had claimed these jobs, and added the first ones.

    It has registered itself before.
    """
    old.core.legacy_calls("claim_job", [[place, id, token(id), 30_000] for id, place in places.items()]).wait()
    for id in list(places)[:arrived]:
        receive(old, new, id).wait()


def token(id: str) -> str:
    return f"1-{int(id):x}-run"


def receive(old: LegacyQueue, new: Queue, id: str):
    tombstone = f"{source_at(old, new)} {token(id)} {id}"
    fields = [part for pair in old.get_job(id).fields.items() for part in pair]
    return new.core.legacy_calls("receive_job", [[1, tombstone, id, "", "wait", "", "", "", 0, *fields]])


@every_bull
def test_bull_runs_the_jobs_that_are_given_back_in_their_order(bull, old, new, redis):
    old.migrate(new)
    ids = [add(bull, old, {"n": n}) for n in range(4)]
    later = add(bull, old, {"n": 9}, delay=LATER)
    due = redis.zscore(old.to_key("delayed"), later)
    kill_mover(old, new, dict.fromkeys(ids[:3], "wait") | {later: "delayed"}, arrived=1)
    given = old.give_back(new)
    assert (given.returned, given.arrived) == ({"waiting": 2, "delayed": 1}, 1)
    assert redis.zscore(old.to_key("delayed"), later) == due
    assert [job.id for job in old.get_jobs("waiting")] == ids[1:]
    assert [job.id for job in new.get_waiting()] == ids[:1] and old.get_job(ids[0]) is None
    bull.call("work", queue=old.name)
    wait_until(lambda: len(bull.call("worked", queue=old.name)) == 3, "Bull has run them")
    assert [id for id, _ in bull.call("worked", queue=old.name)] == ids[1:]
    assert old.give_back(new).returned == {} and not redis.exists(old.to_key("ext:claim"))


@newest_bull
def test_a_mover_that_lives_after_all_adds_no_job_that_went_back(bull, old, new):
    old.migrate(new)
    id = add(bull, old)
    kill_mover(old, new, {id: "wait"})
    assert old.give_back(new).returned == {"waiting": 1}
    assert receive(old, new, id).wait() == [-2] and new.count() == 0
    assert old.migrate(new).moved == {"waiting": 1}


@newest_bull
def test_a_move_goes_on_after_a_killed_give_back(bull, old, new):
    """The other queue has decided that the job goes back, and it has not gone back yet."""
    old.migrate(new)
    id = add(bull, old)
    kill_mover(old, new, {id: "wait"})
    tombstone = f"{source_at(old, new)} {token(id)} {id}"
    new.core.legacy_calls("receive_job", [[1, tombstone, id, "", "back", "", "", "", 0]]).wait()
    assert old.migrate(new).moved == {"waiting": 1}
    assert [job.id for job in new.get_waiting()] == [id] and not any(old.get_job_counts().values())


@newest_bull
def test_only_the_queue_that_the_jobs_were_on_their_way_to_can_tell(bull, old, new, redis, redis_url, queue_name):
    old.migrate(new)
    id = add(bull, old)
    kill_mover(old, new, {id: "wait"})
    with Queue(f"{queue_name}-other", url=redis_url, skip_metas_update=True) as other:
        for refused in (old.give_back, old.migrate, lambda to: old.bridge(to, max_seconds=0.01)):
            with pytest.raises(LegacyQueueError, match=IS_CLAIMED):
                refused(other)
    elsewhere = redis_url.replace("127.0.0.1", "localhost")
    with LegacyQueue(queue_name, url=elsewhere) as same, pytest.raises(LegacyQueueError) as error:
        same.give_back(new)
    assert "knows of no move from localhost" in str(error.value)
    assert f"but of one from {source_at(old, new)}: write the address of Bull's server so" in str(error.value)
    with pytest.raises(LegacyQueueError, match="claimed by a move to .* and runs nowhere: finish it by"):
        old.forget()
    assert old.give_back(new).returned == {"waiting": 1}
    assert old.forget()
