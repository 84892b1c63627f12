"""A job that is ready wakes a worker, whichever script has made it ready: where one sets no marker, that is found."""

import re
from typing import Any

import pytest

from tests.interop.peers import FLOOR
from tests.interop.sides.pair import Pair, Sides, StateDiffers
from tests.interop.sides.script_side import ScriptSide

from .sleepers import Sleepers

#: The steps of a fault by the script that makes it: the last step makes a job ready.
STEPS: dict[str, list[tuple[Any, ...]]] = {
    "add/add_jobs": [("add", "work", {})],
    "add/add_linked_jobs": [("add_flow", {"name": "work", "queueName": "@", "data": {}, "opts": {"jobId": "p"}})],
    "finish/move_to_wait": [("add", "work", {}), ("fetch", "t"), ("move_to_wait", "1", "t")],
    "lock/move_stalled_jobs_to_wait": [
        *(("add", "work", {}), ("fetch", "t"), ("stalled",), ("expire", "1:lock"), ("expire", "stalled-check")),
        ("stalled",),
    ],
    "manage/promote": [("add", "work", {}, {"delay": 5000}), ("promote", "1")],
    "manage/promote_jobs": [("add", "work", {}, {"delay": 5000}), ("promote_jobs",)],
    "manage/resume": [("pause",), ("add", "work", {}), ("resume",)],
    "manage/retry": [("add", "work", {}), ("fetch", "t"), ("fail", "1", "boom", "t"), ("retry", "1")],
    "manage/retry_jobs": [("add", "work", {}), ("fetch", "t"), ("fail", "1", "boom", "t"), ("retry_jobs",)],
    "manage/remove_child_dependency": [
        (
            "add_flow",
            {
                "name": "work",
                "queueName": "@",
                "data": {},
                "opts": {"jobId": "p"},
                "children": [{"name": "work", "queueName": "@b", "data": {}, "opts": {"jobId": "c"}}],
            },
        ),
        ("remove_child_dependency", "c", {"queue": "b"}),
    ],
}


class Forgetful(ScriptSide):
    """Our scripts, one of which sets no marker."""

    forgets: str | None = None
    #: It stands for real BullMQ of this version.
    node = FLOOR

    def _source(self, script: str) -> str:
        source = super()._source(script)
        if script != self.forgets:
            return source
        forgetful, places = re.subn(r"call\('ZADD', [^()]*marker[^()]*\)", "call('PING')", source)
        assert places, f"{script} sets no marker"
        return forgetful


@pytest.fixture
def new_pair(databases: tuple[Any, Any], queue_name: str) -> Any:
    """Return a function that makes a pair whose sides are both the same scripts: they agree, whatever is wrong."""

    def make(forgets: str | None) -> Pair:
        def open_queue(prefix: str, name: str) -> Sides:
            sides = [Forgetful(of, prefix, name, lambda after, repeat: None) for of in (*databases, databases[1])]
            for side in sides:
                side.forgets = forgets
            return Sides(*sides)

        return Pair(open_queue, databases, queue_name)

    return make


def play(pair: Pair, steps: list[tuple[Any, ...]]) -> Sleepers:
    sleepers = Sleepers(pair, ("", "b"))
    pair.on("b")
    for name, *args in steps:
        options = args.pop() if len(args) > 1 and isinstance(args[-1], dict) and args[-1] else {}
        getattr(pair, name)(*args, **options)
        sleepers.look(name)
    return sleepers


@pytest.mark.parametrize("script", STEPS)
def test_a_script_that_wakes_nobody_is_found(new_pair, script):
    *before, last = STEPS[script]
    with pytest.raises(StateDiffers, match="nobody learns of the jobs"):
        play(new_pair(script), [*before, last])


@pytest.mark.parametrize("script", STEPS)
def test_a_job_that_is_ready_wakes_somebody(new_pair, script):
    play(new_pair(None), STEPS[script])


def test_workers_that_find_nothing_sleep_again(new_pair):
    pair = new_pair(None)
    assert play(pair, [("add", "work", {}), ("fetch", "t"), ("complete", "1", 1, "t")]).woken == 1
    assert not pair.clients[1].exists(pair.base() + "marker")
