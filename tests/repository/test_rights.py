"""Who needs which right of Redis: the tables are those of the code; each script and source file belongs to a role."""

import fnmatch

from redis import Redis

from bullrush.rights import acl_rule, read_roles
from docs.build import rights


def test_the_tables_are_what_make_rights_writes() -> None:
    assert rights.table(rights.TABLE.read_text()) == rights.TABLE.read_text(), "run make rights"
    assert rights.page(rights.PAGE.read_text()) == rights.PAGE.read_text(), "run make rights"


def test_every_command_exists(redis: Redis) -> None:
    """A word in capitals that is no command belongs to the words that the tool leaves out."""
    known = {name.lower() for name in redis.command()}
    listed = set().union(*rights.commands_of_scripts().values(), *rights.commands_of_sources().values())
    newer = {"waitaof"}  # than the oldest server
    assert {name for name in listed if name.split("|")[0] not in known | newer} == set()


def test_no_role_but_admin_may_do_what_ends_a_queue() -> None:
    for name, role in read_roles().items():
        commands = {*role.needed, *role.useful}
        assert {"keys", "flushall", "flushdb", "config|get", "config", "eval", "debug", "acl"} & commands == set()
        if name == "reader":
            assert not any(word in command for command in commands for word in ("del", "push", "add", "rem", "incr"))


def test_every_script_of_a_role_exists() -> None:
    scripts = rights.commands_of_scripts()
    named = {pattern for role in rights.ROLES.values() for pattern in role.scripts}
    assert [pattern for pattern in named if not fnmatch.filter(scripts, pattern)] == []


def test_a_rule_names_only_the_keys_and_channels_of_its_queues() -> None:
    rule = acl_rule(["get"], user="app", prefixes=["a*b"], queues=["mail", "x[1]"])
    assert rule == (
        r"ACL SETUSER app reset on >PASSWORD ~a\*b:mail:* ~a\*b:mail~* ~a\*b:x\[1\]:* ~a\*b:x\[1\]~*"
        r" resetchannels &a\*b:ext:* +get"
    )


def test_who_moves_queues_of_bull_has_two_prefixes_and_speaks_on_the_channels_of_bull() -> None:
    rule = acl_rule(["get"], user="app", prefixes=["bull", "new"], queues=["mail"], bull=True)
    keys = "~bull:mail:* ~bull:mail~* ~new:mail:* ~new:mail~*"
    channels = "&bull:* &new:* &waiting@* &completed@* &failed@*"
    assert rule == f"ACL SETUSER app reset on >PASSWORD {keys} resetchannels {channels} +get"
