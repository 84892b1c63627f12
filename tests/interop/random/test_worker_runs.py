"""Workers of both sides run the same random jobs: keys, events and what listeners get are equal."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.sides.pair import StateDiffers
from tests.waiting import wait_until

from .sequences import Player, numbers, worker_run_pair
from .worker_run_sequences import WorkerRunSequence, play_worker_runs, worker_run_sequences

SEQUENCES = 30
CHUNK = 5


@pytest.fixture(scope="module")
def player(peer, node_fleet, redis_url):
    return Player(
        worker_run_pair(node_fleet.get(peer.library), redis_url, "random-worker-runs"),
        worker_run_sequences(),
        play_worker_runs,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, SEQUENCES, CHUNK))
def test_workers_of_both_sides_do_the_same_with_random_jobs(player, first):
    for number in numbers(seed=0, sequences=SEQUENCES)[first : first + CHUNK]:
        player.play(number)


def test_a_difference_that_only_a_listener_sees_is_found(player):
    player.begin()
    pair = player.pair
    WorkerRunSequence(pair, {"kind": "def", "concurrency": 1, "prefetch": 0, "short": False})
    id = pair.add("work", {"n": 1})
    pair.clients[1].hset(f"{pair.base()}{id}", "data", '{"n":2}')
    with pytest.raises(StateDiffers, match=r"result › active\[0\] › data › n: expected 1, got 2"):
        pair.run_worker("def", delays=False)


def test_a_worker_that_sleeps_while_a_job_is_ready_is_found(player):
    player.begin()
    ours, client = player.pair.on("").actual, player.pair.clients[1]
    ours.add("work", {}, delay=600_000)
    with ThreadPoolExecutor() as pool:
        run = pool.submit(ours.run_worker, "def", delays=True)
        wait_until(lambda: any("b" in one["flags"] and one["db"] == "1" for one in client.client_list()))
        client.rpush(player.pair.base() + "wait", "1")  # as a script would that sets no marker
        assert run.result()["errors"] == ["the worker sleeps while 1 jobs are ready, and nothing will wake it"]
