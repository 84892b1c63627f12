"""A master, two replicas and three Sentinels."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

SERVICE = "main"


class SentinelProcess(EmbeddedRedis):
    """One Sentinel."""

    def __init__(self, settings: Sequence[str]) -> None:
        self._settings = settings
        super().__init__(port=0, password="", persistence=False)

    def _command(self, data: Path) -> list[str]:
        # Sentinel writes what it learns into this file.
        file = data / "sentinel.conf"
        if not file.exists():
            own = [f"port {self._port}", "bind 127.0.0.1", f"dir {data}", "loglevel warning"]
            file.write_text("\n".join([*own, *self._settings, ""]))
        return [self._binary, str(file), "--sentinel"]


class SentinelServers:
    """A master, two replicas and three Sentinels, which take another server as master when one does not answer.

    Args:
        down_after: milliseconds without an answer after which the master counts as down.
        password: what the servers ask for.
        sentinel_login: user and password that the Sentinels ask for.
        args: more options of the servers.
    """

    def __init__(
        self,
        *,
        down_after: int = 1500,
        password: str | None = None,
        sentinel_login: tuple[str, str] | None = None,
        args: Sequence[str] = (),
    ) -> None:
        self._password, self._sentinel_login = password, sentinel_login
        with ExitStack() as begun:
            options = ["--repl-diskless-sync-delay", "0", "--repl-backlog-size", "32mb", *args]
            first = begun.enter_context(EmbeddedRedis(port=0, password="", args=options))
            #: All servers, whatever their role.
            self.servers = [first]
            for _ in range(2):
                replica = [*options, "--replicaof", "127.0.0.1", str(port_of(first))]
                self.servers.append(begun.enter_context(EmbeddedRedis(port=0, password="", args=replica)))
            for server in self.servers if password else ():
                with Redis.from_url(server.url) as redis:
                    redis.config_set("masterauth", password)
                    redis.config_set("requirepass", password)
            # Sentinels ask a master for its replicas when they begin, and then only every 10 s.
            wait_until(lambda: len(self._replicas(first)) == 2, "the replicas are in sync")
            settings = [
                f"sentinel monitor {SERVICE} 127.0.0.1 {port_of(first)} 2",
                f"sentinel down-after-milliseconds {SERVICE} {down_after}",
                f"sentinel failover-timeout {SERVICE} 3000",
                f"sentinel parallel-syncs {SERVICE} 2",
                *([f"sentinel auth-pass {SERVICE} {password}"] if password else []),
            ]
            if sentinel_login:
                user, secret = sentinel_login
                settings += [
                    "user default on nopass -@all +ping",
                    f"user {user} on >{secret} allchannels +@all",
                    f"sentinel sentinel-user {user}",
                    f"sentinel sentinel-pass {secret}",
                ]
            self.sentinels = [begun.enter_context(SentinelProcess(settings)) for _ in range(3)]
            self._stack = begun.pop_all()
        #: The URL for clients, with the logins.
        self.url = self.url_of(*map(port_of, self.sentinels))

    def url_of(self, *ports: int) -> str:
        """Return the URL for clients that know Sentinels at these ports."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        login = f":{self._password}@" if self._password else ""
        user, secret = self._sentinel_login or ("", "")
        own = f"?sentinel_username={user}&sentinel_password={secret}" if user else ""
        return f"redis+sentinel://{login}{hosts}/{SERVICE}{own}"

    def __enter__(self) -> "SentinelServers":
        self.wait_until_ready()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop all of them."""
        self._stack.close()

    def wait_until_ready(self) -> None:
        """Wait until the Sentinels know each other and two good replicas, so that they can fail over."""
        for sentinel in self.sentinels:
            with self.ask(sentinel) as redis:
                wait_until(lambda redis=redis: self._is_ready(redis), "the Sentinels know each other", pause=0.05)

    def master(self) -> EmbeddedRedis:
        """Return the server that most Sentinels name as the master."""
        ports = []
        for sentinel in self.sentinels:
            if sentinel.alive:
                with self.ask(sentinel) as redis:
                    ports.append(int(redis.sentinel_get_master_addr_by_name(SERVICE)[1]))
        port = max(set(ports), key=ports.count)
        return next(server for server in self.servers if port_of(server) == port)

    def connect(self, server: EmbeddedRedis) -> Redis:
        """Return a plain client of one server."""
        return Redis.from_url(server.url, password=self._password, decode_responses=True)

    def ask(self, sentinel: EmbeddedRedis) -> Redis:
        """Return a plain client of one Sentinel."""
        user, secret = self._sentinel_login or (None, None)
        return Redis.from_url(sentinel.url, username=user, password=secret, decode_responses=True)

    def fail_over(self) -> EmbeddedRedis:
        """Let another server take over in a planned way; return the new master. No write is lost.

        Sentinel promotes a replica while the old master still takes writes, for about ten seconds more. So writes pause
        there until the clients have left it.
        """
        before = self.master()
        with self.ask(self.sentinels[0]) as sentinel, self.connect(before) as redis:
            wait_until(lambda: self._is_ready(sentinel), "a failover is possible", pause=0.05)
            redis.client_pause(5000, all=False)
            wait_until(lambda: self._have_everything(before), "the replicas have every write")
            self.begin_failover()
            return self.wait_for_other_master(before)

    def begin_failover(self) -> None:
        """Let a Sentinel promote a replica, while the old master goes on."""
        with self.ask(self.sentinels[0]) as sentinel:
            wait_until(lambda: self._begin_failover(sentinel), "a planned failover begins", pause=0.05)

    def wait_for_other_master(self, before: EmbeddedRedis) -> EmbeddedRedis:
        """Return the next master when most Sentinels name it and it says so itself."""

        def other() -> EmbeddedRedis | None:
            now = self.master()
            if now is before:
                return None
            with suppress(RedisError), self.connect(now) as redis:
                return now if redis.role()[0] == "master" else None
            return None

        found = wait_until(other, "another server is the master", pause=0.02)
        assert found is not None
        return found

    def _replicas(self, server: EmbeddedRedis) -> list[dict[str, Any]]:
        with self.connect(server) as redis:
            found = redis.info("replication")
        replicas = [
            found[f"slave{number}"] | {"master": found["master_repl_offset"]}
            for number in range(found["connected_slaves"])
        ]
        return [replica for replica in replicas if replica["state"] == "online"]

    def _have_everything(self, server: EmbeddedRedis) -> bool:
        replicas = self._replicas(server)
        return bool(replicas) and all(replica["offset"] == replica["master"] for replica in replicas)

    @staticmethod
    def _is_ready(redis: Redis) -> bool:
        master = redis.sentinel_master(SERVICE)
        good = [
            replica
            for replica in redis.sentinel_slaves(SERVICE)
            if replica["master-link-status"] == "ok" and not replica["is_disconnected"]
        ]
        return master["num-other-sentinels"] == 2 and bool(good) and not master["is_disconnected"]

    @staticmethod
    def _begin_failover(redis: Redis) -> bool:
        try:
            redis.execute_command("SENTINEL", "FAILOVER", SERVICE)
        except ResponseError as error:
            if not str(error).startswith(("NOGOODSLAVE", "INPROG")):  # it does not know the replicas yet
                raise
            return False
        return True


def port_of(server: EmbeddedRedis) -> int:
    """Return the port of a server."""
    return int(server.url.rsplit(":", 1)[1].partition("/")[0])
