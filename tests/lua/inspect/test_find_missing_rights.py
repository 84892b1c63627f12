"""lua/inspect/find_missing_rights.lua: which commands may a user not run?"""

import re

import pytest
import redis

from bullrush.rights import read_roles
from tests.lua.source import LUA

SCRIPT = "inspect/find_missing_rights"
NEEDED = sorted({command for role in read_roles().values() for command in role.needed})
#: What no script may run before Redis 7: there these are not checked.
NOT_BEFORE_7 = {"bzpopmin", "discard", "multi", "script|exists", "script|load"}


@pytest.fixture
def limited(client, redis_url, runner, queue):
    """`limited(*rules)`: a function that runs scripts as a user with these rules."""
    user = f"limited-{queue}"

    def of(*rules):
        client.execute_command("ACL", "SETUSER", user, "reset", "on", ">limited", f"~bull:{queue}:*", *rules)
        return runner(connection)

    with redis.Redis.from_url(redis_url, username=user, password="limited", decode_responses=True) as connection:
        yield of
    client.execute_command("ACL", "DELUSER", user)


def is_new(client):
    return int(client.info("server")["redis_version"].split(".")[0]) >= 7


def is_checked(client, command):
    return is_new(client) or command not in NOT_BEFORE_7


def test_nothing_is_missing_where_all_is_allowed(run, queue, dump):
    assert run(SCRIPT, queue, *NEEDED) == []
    assert dump(queue) == {}


def test_a_command_that_is_denied_is_reported_and_no_other(client, limited, queue, dump):
    reported = {}
    for command in NEEDED:
        if command != "evalsha":  # without it, the script itself is refused
            denied = command if is_new(client) else command.split("|")[0]  # before 7 only whole commands can be denied
            reported[command] = limited("+@all", f"-{denied}")(SCRIPT, queue, *NEEDED)
            assert dump(queue) == {}
    expected = {command: [command] for command in reported if is_checked(client, command)}
    assert reported == {command: [] for command in reported} | expected


def test_all_that_is_denied_is_reported(client, limited, queue, dump):
    missing = limited("+evalsha", "+del", "+llen")(SCRIPT, queue, *NEEDED)
    checked = [command for command in NEEDED if is_checked(client, command)]
    assert missing == [command for command in checked if command not in {"evalsha", "del", "llen"}]
    assert dump(queue) == {}


def test_nothing_is_left_of_a_user_who_may_not_delete(limited, queue, dump):
    assert "del" in limited("+@all", "-del")(SCRIPT, queue, *NEEDED)
    assert dump(queue) == {}


def test_a_reader_needs_no_right_to_delete(limited, queue, dump):
    reader = read_roles()["reader"].needed
    assert limited(*(f"+{name}" for name in reader))(SCRIPT, queue, *reader) == []
    assert limited(*(f"+{name}" for name in reader), "-hget")(SCRIPT, queue, *reader) == ["hget"]
    assert dump(queue) == {}


def test_a_command_that_is_not_known_is_not_reported(run, queue):
    assert run(SCRIPT, queue, "no-such-command") == []


def test_every_command_that_a_role_needs_is_known_with_as_many_arguments_as_it_takes(client, run):
    """A server may stop when it looks for the keys of a command that has too few arguments."""
    source = (LUA / f"{SCRIPT}.lua").read_text()
    shapes = re.findall(r"^  \{ '([^']+)'(.*) \},$", source, re.MULTILINE)
    counts = {command: len(command.split("|")) + rest.count(",") for names, rest in shapes for command in names.split()}
    assert [command for command in NEEDED if command not in counts] == []
    arities = {name: known["arity"] for name, known in client.command().items()}
    wrong = [
        command
        for command, count in counts.items()
        if "|" not in command and not (count == arities[command] or count >= -arities[command] > 0)
    ]
    assert wrong == []
