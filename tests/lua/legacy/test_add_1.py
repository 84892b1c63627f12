"""lua/legacy/add_1.lua: adding a job to a queue of Bull 1.x."""

SCRIPT = "legacy/add_1"
NOW = 1795225366409


def test_a_job_waits_behind_the_others(run, queue, dump):
    assert run(SCRIPT, queue, '{"n":1}', "{}", NOW, 0, 1, False) == "1"
    assert run(SCRIPT, queue, '{"n":2}', "{}", NOW, 0, 1, False) == "2"
    assert run(SCRIPT, queue, '{"n":3}', "{}", NOW, 0, 1, True) == "3"
    state = dump(queue)
    assert state["wait"] == ["2", "1", "3"]
    assert state["1"]["attempts"] == "1"


def test_a_delayed_job_has_a_score_of_its_time_and_id(run, queue, dump):
    run(SCRIPT, queue, "{}", "{}", NOW, 5000, 3, False)
    assert dump(queue)["delayed"] == [("1", (NOW + 5000) * 4096 + 1)]
