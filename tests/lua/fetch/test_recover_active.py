"""lua/fetch/recover_active.lua: finding the jobs of a lost fetch reply."""


def test_an_idle_queue_has_nothing_to_recover(recover, queue, dump):
    assert recover(queue, "t") == {}
    assert dump(queue) == {}


def test_unknown_jobs_of_the_token_come_back_oldest_first_with_their_hash(recover, add, fetch, queue, dump):
    add(queue, "a", "b", "c")
    fetched = fetch(queue, 3)
    before = dump(queue)
    recovered = recover(queue, "t", "2")
    assert list(recovered) == ["1", "3"]
    assert recovered["1"] == {**fetched.jobs["1"], "ats": "1", "processedOn": before["1"]["processedOn"]}
    assert dump(queue) == before


def test_the_ids_come_back_without_the_data(recover, add, fetch, queue):
    add(queue, "a", "b", "c")
    fetch(queue, 3)
    assert recover(queue, "t", "2", with_data=0) == {"1": None, "3": None}


def test_jobs_of_other_tokens_and_jobs_without_a_lock_are_left_out(recover, add, fetch, client, queue):
    add(queue, "a", "b", "c")
    fetch(queue, 1, token="other")
    fetch(queue, 2)
    client.delete(f"bull:{queue}:2:lock")
    assert list(recover(queue, "t")) == ["3"]


def test_more_active_jobs_than_one_command_can_take_are_searched(recover, add, fetch, queue):
    add(queue, *["x"] * 2500)
    fetch(queue, 2500)
    assert len(recover(queue, "t")) == 2500
    assert list(recover(queue, "t", *range(1, 2500))) == ["2500"]
