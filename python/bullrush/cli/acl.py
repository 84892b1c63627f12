"""``bullrush acl``: the rights of a Redis user."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.extending import nearest, shown
from bullrush.rights import OF_NODE, PASSWORD, acl_rule, read_roles

EXAMPLES = """\
  bullrush acl                               the roles
  bullrush acl worker                        a user who may run jobs
  bullrush acl worker producer --user app    one who may run and add jobs
  bullrush acl producer --queue mail         only in this queue and its routes
  bullrush acl worker producer --node        one whose program uses BullMQ for Node
  bullrush acl admin --prefix a --prefix b   one who may move queues of Bull from a to b
  bullrush acl reader --json | jq -r '.needed[]'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "roles", nargs="*", metavar="ROLE", help="producer, worker, reader, spark or admin; several too"
    )
    parser.add_argument("--user", help="the name of the user (default: the first role)")
    parser.add_argument(
        "--prefix",
        action="append",
        default=[],
        help="the prefix of all keys (default: bull); give it again for more, as to move a queue of Bull",
    )
    parser.add_argument(
        "--queue", action="append", default=[], metavar="NAME", help="only this queue; give it again for more queues"
    )
    parser.add_argument("--node", action="store_true", help="a producer or a worker that uses BullMQ for Node")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the roles, or the rule of one user.

    JSON: a list of `Role`, or ``{"rule": ..., "needed": [...], "useful": [...]}``.
    """
    known = read_roles()
    for name in options.roles:
        if name not in known:
            raise CommandError(f"there is no role {shown(name)}.{nearest(name, list(known))}", USAGE)
    for option, given in (("--user", [options.user]), ("--prefix", options.prefix), ("--queue", options.queue)):
        if any(name is not None and (not name or any(map(str.isspace, name))) for name in given):
            raise CommandError(f"{option} is empty or has a space, which Redis takes in no rule", USAGE)
    if options.node and (not options.roles or not OF_NODE.keys() >= set(options.roles)):
        raise CommandError(f"--node is for the roles {' and '.join(OF_NODE)}", USAGE)
    if not options.roles:
        if options.json:
            write_json([role._asdict() for role in known.values()])
        else:
            for role in known.values():
                write(f"{role.name.ljust(10)}{role.summary}")
        return 0
    roles = [known[name] for name in options.roles]
    of_node = [command for role in roles for command in OF_NODE[role.name]] if options.node else []
    needed = sorted({command for role in roles for command in role.needed}.union(of_node))
    useful = sorted({command for role in roles for command in role.useful})
    user = options.user or roles[0].name
    rule = acl_rule(
        [*needed, *useful],
        user=user,
        prefixes=options.prefix or ["bull"],
        queues=options.queue,
        bull="admin" in options.roles,
    )
    if options.json:
        write_json({"rule": rule, "needed": needed, "useful": useful})
    else:
        write(rule)
        say(
            f"Replace {PASSWORD}, and pipe it into redis-cli as an administrator, for each server: Redis does not copy "
            "users."
        )
    return 0
