"""Users of Redis with the rights of docs/security.md and no others, for rounds that run under them."""

from typing import Any

from redis import Redis

from bullrush.rights import acl_rule, read_roles
from docs.build.rights import NEVER

PASSWORD = "secret"
#: BullMQ for Node has no list of what it needs: all but what is dangerous, and what it calls of that.
NODE = [
    "on",
    ">secret",
    "~bull:*",
    "&*",
    "+@all",
    "-@dangerous",
    "-@admin",
    "+info",
    "+client|setname",
    "+client|list",
    "+client|setinfo",
    "+cluster|slots",
    "+cluster|info",
]


def user_of(role: str, kind: str) -> str:
    """Return the user of a process: a worker or a producer, of this kind."""
    return kind if kind in ("node", "spark") else role


def server_args() -> list[str]:
    """Return the arguments by which a server has these users from its start on."""
    words = ["--user", "node", *NODE]
    for name in ("producer", "worker", "spark"):
        role = read_roles()[name]
        # The relay asks for an echo on the same connection, to know that a call was executed whose reply it loses.
        rule = acl_rule((*role.needed, *role.useful, "echo"), user=name, password=PASSWORD)
        words += ["--user", name, *rule.split()[3:]]
    return words


def as_user(url: str, user: str) -> str:
    """Return the URL for a user."""
    return url.replace("://", f"://{user}:{PASSWORD}@", 1)


def refused(redis: "Redis[Any]") -> set[str]:
    """Return what users of ours were refused, each as a user and a command."""
    parents = {name.partition("|")[0] for name in NEVER}
    found = set()
    for entry in redis.acl_log():
        what, user = str(entry["object"]), str(entry["username"])
        if user != "node" and what not in NEVER and what not in parents:
            found.add(f"{user} {what} ({entry['reason']})")
    return found
