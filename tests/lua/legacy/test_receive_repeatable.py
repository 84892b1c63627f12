"""lua/legacy/receive_repeatable.lua: a repeatable of another server becomes a job scheduler."""

SCRIPT = "legacy/receive_repeatable"
NOW = 1795225366409
NEXT = NOW + 60_000
JOB = f"repeat:legacy-x:{NEXT}"


def receive(run, queue, data):
    opts = '{"attempts":2,"repeat":{"every":90000,"count":3}}'
    fields = ["name", "mail", "every", 90_000, "ic", 3, "offset", 5, "data", data]
    return run(SCRIPT, queue, NEXT, NOW, "legacy-x", "mail", data, opts, "", 0, False, *fields)


def test_the_scheduler_and_its_next_job_are_stored(run, queue, dump):
    assert receive(run, queue, '{"n":1}') == 1
    state = dump(queue)
    assert state["repeat"] == [("legacy-x", NEXT)]
    assert state["repeat:legacy-x"] == {"name": "mail", "every": "90000", "ic": "3", "offset": "5", "data": '{"n":1}'}
    assert state["delayed"] == [(JOB, NEXT * 4096)]
    assert (state[JOB]["data"], state[JOB]["rjk"]) == ('{"n":1}', "legacy-x")


def test_the_same_again_changes_the_template_only(run, queue, dump):
    receive(run, queue, '{"n":1}')
    before = dump(queue)
    assert receive(run, queue, '{"n":1}') == 2
    assert dump(queue) == before
    receive(run, queue, '{"n":2}')
    after = dump(queue)
    assert after["repeat:legacy-x"]["data"] == '{"n":2}'
    assert (after[JOB], after["delayed"]) == (before[JOB], before["delayed"])
