"""Arguments with which each script can be tried in redis-cli: on the queue ``mail`` and its job 17."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from bullrush.scripts import Script

#: Now, in ms; the shell fills it in.
_NOW: Final = "$(date +%s)000"
_JOB: Final = ("17",)
_TOKEN: Final = "my-worker"
#: Job 17 under the lock of this worker.
_LOCKED: Final = ("17", _TOKEN)
_NO_FIELDS: Final = ("", "")
#: count, name, options, time of the add, delay, priority, lifo
_ONE_JOB: Final = ("1", "welcome", "{}", _NOW, "0", "0", "0")
#: data, options, time of the add, delay, due
_OLD_JOB: Final = ('{"user":7}', "{}", _NOW, "0", "0")
_CLAIMED: Final = ("17", "my-claim")
#: lock duration, limiter (max and duration), worker's name, how many jobs, how many start now, stalled limit, alone
_FETCH_ONE: Final = (_TOKEN, "30000", "", "", "", "1", "1", "", "0")

#: The arguments by the name of the script.
ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "add/add_job_scheduler": (
        _NOW, "nightly", "", "60000", "", "digest", "{}", '{"repeat":{"every":60000}}', "0", "0", "",
        "name", "digest", "every", "60000",
    ),
    "add/add_jobs": (*_ONE_JOB, "0", '{"user":7}'),
    "add/add_linked_jobs": (
        "", "1", "bull:mail:", *_ONE_JOB[1:], "0", "0", "", "", "user-7", "60000", "", '{"user":7}',
    ),
    "add/add_scheduler_iteration": (
        _NOW, "nightly", "repeat:nightly:1", "", "60000", "digest", "{}", "{}", "0", "0", "",
    ),
    "fetch/move_to_active": (_NOW, *_FETCH_ONE),
    "fetch/recover_active": (_TOKEN,),
    "fetch/start_jobs": ("", *_LOCKED, "1", _NOW),
    "finish/give_back": (*_LOCKED, "", "0", "", "", ""),
    "finish/move_to_delayed": (_NOW, *_LOCKED, "60000", "0", *_NO_FIELDS),
    "finish/move_to_finished": (
        _NOW, "0", "0", _TOKEN, "30000", "", "", "", "0", "", "0", "",
        "1", "completed", _TOKEN, "-1", "", "", "", "", "17", '"the result"',
    ),
    "finish/move_to_wait": _LOCKED,
    "finish/move_to_waiting_children": (_NOW, *_LOCKED, ""),
    "finish/retry_job": (_NOW, *_LOCKED, "0", *_NO_FIELDS),
    "hint/consume_wake_hint": ("1",),
    "hint/provide_wake_hint": ("3",),
    "hint/sweep_markers": (),
    "hint/wake_another": (),
    "inspect/find_missing_rights": ("hset", "zadd"),
    "inspect/get_counts": ("wait", "active", "failed"),
    "inspect/get_matches": ("1000000", "200000", "1", "name", "mail", "1"),
    "inspect/get_ranges": ("0", "9", "0", "failed"),
    "inspect/get_state": _JOB,
    "inspect/is_drained": (_NOW, "0"),
    "legacy/acknowledge_job": (*_CLAIMED, "0"),
    "legacy/add_1": (*_OLD_JOB, "1", "0"),
    "legacy/add_2": (*_OLD_JOB, "1", "0", "0", "", _TOKEN),
    "legacy/add_3": ("welcome", *_OLD_JOB, "0", "0", "", _TOKEN, "", ""),
    "legacy/claim_job": ("wait", *_CLAIMED, "30000"),
    "legacy/cleanup": ("100",),
    "legacy/drop_repeatable": ("digest:::60000", _NOW, "delayed", "", ""),
    "legacy/forget_mirrored": (_NOW, *_JOB, "completed", *_NO_FIELDS),
    "legacy/schedule_repeatable": ("digest:::60000", _NOW, _NOW, "repeat:digest:1", "name", "digest"),
    "legacy/mirror_job": (
        *_JOB, "completed", _NOW, "zset", "", "", "bull:mail:completed", '{"jobId":"17","val":5}', "returnvalue", "5",
    ),
    "legacy/move_job": ("wait", *_JOB, *_JOB, "", "wait", "", "", "0", "0", "1", "name", "welcome"),
    "legacy/move_repeatable": (
        "digest:::60000", _NOW, "delayed", "", "", _NOW, "legacy-digest", "digest", '{"repeat":{"every":60000}}', "",
        "0", "0",
        "name", "digest",
    ),
    "legacy/open_migration": ("bull:mail", "0", "17"),
    "legacy/receive_job": (
        _NOW, "17 my-claim", *_JOB, "", "wait", "", "", "", "0", "name", "welcome", "data", '{"user":7}', "opts", "{}",
    ),
    "legacy/receive_repeatable": (
        _NOW, _NOW, "legacy-digest", "digest", "{}", '{"repeat":{"every":60000}}', "", "0", "0", "name", "digest",
    ),
    "legacy/retry": (*_JOB, "0", "4", _NOW, _TOKEN),
    "legacy/return_job": _CLAIMED,
    "lock/extend_locks": ("30000", *_LOCKED),
    "lock/move_stalled_jobs_to_wait": (_NOW, "1", "30000", "100", "0"),
    "lock/release_lock": _LOCKED,
    "limit/get_usage": ("", "openai", "openai"),
    "limit/hold": ("30000", "openai", "openai"),
    "limit/spend": ("", "my-grant", "openai", "openai", "1"),
    "limit/take": ("", "my-grant", "60000", "openai", "openai", "1"),
    "manage/add_log": (*_JOB, "looked at by hand", "100", "own"),
    "manage/change_delay": (_NOW, *_JOB, "60000"),
    "manage/change_priority": (*_JOB, "1", "0"),
    "manage/clean": ("completed", _NOW, "0", "0", "0", "0"),
    "manage/clear_logs": (*_JOB, "10"),
    "manage/drain": ("0",),
    "manage/obliterate": ("1000", "0"),
    "manage/pause": (),
    "manage/promote": _JOB,
    "manage/promote_due": (_NOW, "100"),
    "manage/promote_jobs": ("1000",),
    "manage/promote_many": ("2", *_JOB, "18"),
    "manage/remove": (*_JOB, "1"),
    "manage/remove_child_dependency": _JOB,
    "manage/remove_deduplication_key": (*_JOB, "user-7"),
    "manage/remove_job_scheduler": ("nightly", ""),
    "manage/remove_orphaned_jobs": _JOB,
    "manage/remove_unprocessed_children": _JOB,
    "manage/resume": (),
    "manage/retry": (*_JOB, "failed", "0", "0", "0"),
    "manage/retry_jobs": ("failed", "1000", _NOW),
    "manage/update_data": (*_JOB, '{"user":8}'),
    "manage/update_progress": (*_JOB, "50"),
    "route/move_job": ("wait", *_JOB, ""),
    "route/retire_routes": ("100", "", _NOW),
    "route/revive_routes": (_NOW, "cap.gpu"),
    "route/register_route": ("cap.gpu", '{"capabilities":["gpu"]}', *_NO_FIELDS),
    "route/scan_jobs": (_NOW, *_FETCH_ONE, "100", '{"capabilities":["gpu"]}'),
}  # fmt: skip


def redis_cli(script: Script, prefix: str = "bull", queue: str = "mail") -> str | None:
    """Return the lines of a shell that run a script by redis-cli, None if there is no example for it."""
    arguments = ARGUMENTS.get(script.name)
    if arguments is None:
        return None
    file = f"{script.name.rpartition('/')[2]}.lua"
    is_optional = script.other.startswith("optional:")
    queues = [queue, f"{queue}-new"] if script.other and not is_optional else [queue]
    if script.name.startswith("limit/"):
        queues = [""]  # the keys that queues share; see `Keys::home`
    keys = " ".join(shlex.quote(f"{prefix}:{one}:meta") for one in queues)
    words = " ".join(_quoted(word.replace("bull:mail:", f"{prefix}:{queue}:")) for word in arguments)
    return f"bullrush scripts {script.name} > {file}\nredis-cli --eval {file} {keys} , {words}".rstrip()


def _quoted(word: str) -> str:
    return f'"{word}"' if word == _NOW else shlex.quote(word)
