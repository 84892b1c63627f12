"""The rights that a Redis user needs, by what its program does: the rules of ``bullrush acl``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

PASSWORD: Final = "PASSWORD"
#: The channels of Bull 2, which have no prefix.
_BULL_2: Final = ("&waiting@*", "&completed@*", "&failed@*")


class Role(NamedTuple):
    """What a program does, and the commands of it, in lower case; a subcommand after a bar.

    Attributes:
        name: the word of ``bullrush acl``.
        summary: what it is for.
        needed: without them calls fail.
        useful: without them something is missing; the page about security says what.
    """

    name: str
    summary: str
    needed: tuple[str, ...]
    useful: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Without `EVALSHA` no script looks for missing rights; before Redis 7 it looks no further without `DEL`.
_NEEDED_TO_LOOK: Final = frozenset({"+evalsha", "+del"})

#: What BullMQ for Node sends beside the commands of a role, as measured with BullMQ 5 and 6. `QUIT` is allowed to all.
OF_NODE: Final[dict[str, tuple[str, ...]]] = {
    "producer": ("eval", "exec", "hmset", "multi"),
    "worker": ("eval", "exec", "hmset", "multi", "rpoplpush", "zpopmin"),
}

# make rights
ROLES: Final = (
    Role(
        "producer",
        "adds jobs, flows and job schedulers, and waits for their results",
        _words(
            """
            del evalsha exists get hdel hexists hget hgetall hincrby hkeys hlen hmget hscan hset hsetnx hstrlen incr
            incrby lindex llen lpop lpos lpush lrange lrem ltrim persist pexpire ping pttl rename rpop rpush sadd
            scard script|exists script|load set smembers srandmember srem sscan time type unlink xadd xread xrevrange
            xtrim zadd zcard zcount zrange zrangebyscore zrank zrem zremrangebyrank zrevrange zrevrangebyscore zscore
            """
        ),
        _words(
            """
            asking client|id client|list client|setname cluster|slots echo info publish pubsub|numsub select
            subscribe unsubscribe wait
            """
        ),
    ),
    Role(
        "worker",
        "runs jobs, and everything that a handler does with its own job",
        _words(
            """
            bzpopmin copy del evalsha exists expire get hdel hexists hget hgetall hincrby hkeys hlen hmget hscan hset
            hsetnx hstrlen incr incrby lindex llen lmove lpop lpos lpush lrange lrem lset ltrim mget pexpire ping
            psetex pttl rename rpop rpush sadd scard script|exists script|load set sismember smembers smismember
            srandmember srem sscan time type unlink xadd xdel xrange xread xrevrange xtrim zadd zcard zcount zrange
            zrangebyscore zrank zrem zremrangebyrank zremrangebyscore zrevrange zrevrangebyscore zscore
            """
        ),
        _words(
            """
            asking client|id client|list client|setname cluster|slots echo info publish pubsub|numsub select
            subscribe unsubscribe
            """
        ),
    ),
    Role(
        "reader",
        "reads queues, jobs, metrics and events, and changes nothing",
        _words(
            """
            evalsha exists get hexists hget hgetall hlen hmget hscan hstrlen lindex llen lpos lrange ping pttl scan
            scard script|exists script|load sismember smembers srandmember sscan time type xlen xrange xread
            xrevrange zcard zcount zrange zrangebyscore zrank zrevrange zscan zscore
            """
        ),
        _words(
            """
            asking client|id client|list client|setname cluster|slots echo info publish pubsub|numsub select
            subscribe unsubscribe
            """
        ),
    ),
    Role(
        "spark",
        "an executor of Spark: adds rows as jobs, runs jobs, reads jobs as rows",
        _words(
            """
            bzpopmin copy del evalsha exists expire get hdel hexists hget hgetall hincrby hkeys hlen hmget hscan hset
            hsetnx hstrlen incr incrby lindex llen lmove lpop lpos lpush lrange lrem lset ltrim mget persist pexpire
            ping psetex pttl rename rpop rpush sadd scard script|exists script|load set sismember smembers smismember
            srandmember srem sscan time type unlink xadd xdel xinfo|stream xrange xread xrevrange xtrim zadd zcard
            zcount zrange zrangebyscore zrank zrem zremrangebyrank zremrangebyscore zrevrange zrevrangebyscore zscore
            """
        ),
        _words(
            """
            asking client|id client|list client|setname cluster|slots echo info publish pubsub|numsub select
            subscribe unsubscribe wait
            """
        ),
    ),
    Role(
        "admin",
        "everything that a program or the command line can do, moving queues of Bull included",
        _words(
            """
            bzpopmin copy del evalsha exists expire get hdel hexists hget hgetall hincrby hkeys hlen hmget hscan hset
            hsetnx hstrlen incr incrby lindex linsert llen lmove lpop lpos lpush lrange lrem lset ltrim mget persist
            pexpire ping psetex pttl rename rpop rpush sadd scan scard script|exists script|load set sismember
            smembers smismember srandmember srem sscan time type unlink xadd xdel xinfo|stream xlen xrange xread
            xrevrange xtrim zadd zcard zcount zmscore zrange zrangebyscore zrank zrem zremrangebyrank
            zremrangebyscore zrevrange zrevrangebyscore zscan zscore
            """
        ),
        _words(
            """
            asking client|id client|list client|setname cluster|slots echo info publish pubsub|numsub select
            subscribe unsubscribe wait
            """
        ),
    ),
)
# end


def read_roles() -> dict[str, Role]:
    """Return all roles by name, in the order in which people read about them."""
    return {role.name: role for role in ROLES}


def acl_rule(
    commands: Iterable[str],
    *,
    user: str,
    prefixes: Collection[str] = ("bull",),
    queues: Collection[str] = (),
    bull: bool = False,
    password: str = PASSWORD,
) -> str:
    """Return the ``ACL SETUSER`` that makes a user with these rights, and no others.

    Args:
        commands: what it may run, in lower case, a subcommand after a bar.
        user: its name.
        prefixes: the prefixes of its queues.
        queues: the names of its queues, with their routes; without any, all queues of the prefixes.
        bull: it also speaks on the channels of Bull, whose programs hear there of jobs that are added or mirrored.
        password: its password, or a word that stands for it.
    """
    ends = [f"{_literal(name)}{end}" for name in queues for end in (":*", "~*")] or ["*"]
    channels = [f"&{_literal(prefix)}:{'*' if bull else 'ext:*'}" for prefix in prefixes]
    return " ".join(
        [
            f"ACL SETUSER {user} reset on >{password}",
            *(f"~{_literal(prefix)}:{end}" for prefix in prefixes for end in ends),
            "resetchannels",
            *channels,
            *(_BULL_2 if bull else ()),
            *(f"+{command}" for command in sorted(set(commands))),
        ]
    )


def hides_others(missing: Collection[str]) -> bool:
    """Tell whether others cannot be tried without the rights that are missing."""
    return " ".join(missing) in _NEEDED_TO_LOOK


def lacks(missing: Collection[str], role: str, user: str | None) -> str:
    """Return a sentence that says which rights are missing, and how an administrator gives them.

    Args:
        missing: the rights, as words of an ACL rule: ``+hset``, ``~bull:mail:*``.
        role: who needs them.
        user: the user who lacks them, if that is known.
    """
    words = " ".join(missing)
    named = f"user {user!r}" if user else "the user of the URL"
    name = user or "USER"
    if hides_others(missing):
        # To give this right alone would only lead to the next refusal.
        return (
            f"{named} lacks rights that a {role} needs: at least {words}, without which others cannot be tried. "
            f'"bullrush acl {role}" prints the line with which an administrator gives all that a {role} needs'
        )
    return (
        f'{named} lacks rights that a {role} needs: {words}. As an administrator run "ACL SETUSER {name} {words}"; '
        f'"bullrush acl {role}" prints all that a {role} needs'
    )


def _literal(name: str) -> str:
    """Return the pattern that only this name matches."""
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in name)
