"""Cleaning up a queue of real Bull whose programs are still there."""

import pytest

from bullrush import cli
from tests.waiting import wait_until

from .bull_queue import add, every_bull


@pytest.fixture
def migrate(old, redis_url, capsys):
    """Return a function that calls the command; it returns the exit code and what was printed."""

    def call(*words: str):
        capsys.readouterr()
        code = cli.main(["migrate", old.name, "--to-prefix", "moved", "--url", redis_url, *words])
        return code, *capsys.readouterr()

    return call


@every_bull
def test_nothing_is_deleted_unasked_while_a_worker_of_bull_is_connected(bull, old, migrate, redis):
    bull.call("work", queue=old.name)
    add(bull, old, {"n": 1})
    wait_until(lambda: old.get_job_counts("completed") == {"completed": 1}, "its worker works")
    assert migrate()[0] == 0
    code, out, _ = migrate("--verify")
    assert code == 0 and "Do not clean up yet: programs with Bull are connected: " in out
    code, _, error = migrate("--cleanup", "--yes")
    assert code == 3 and "are connected: " in error and "Stop them, or add --force; nothing was deleted" in error
    code, _, error = migrate("--cleanup")  # nobody can answer here
    assert code == 2 and "with 1 completed job? (Programs with Bull are connected: " in error
    assert old.get_job("1").returnvalue == {"worked": 1}
    assert migrate("--cleanup", "--yes", "--force")[0] == 0
    assert old.get_job("1") is None
    bull.call("close", queue=old.name)
    wait_until(lambda: "No program with Bull is seen" in migrate("--verify")[1], "it has gone")
