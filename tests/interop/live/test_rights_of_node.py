"""A worker and a producer of BullMQ for Node need no other rights than those that `bullrush acl --node` prints."""

import json
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush import cli
from tests.interop.peers import Peer

PROGRAM = Path(__file__).parents[1] / "node" / "rights.js"
ROLES = ("producer", "worker")


def test_a_producer_and_a_worker_of_node_are_denied_nothing(
    peer: Peer, queue_name: str, redis: Redis, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server, urls = urlsplit(redis_url), []
    for role in ROLES:
        user = f"{queue_name}-{role}"
        assert cli.main(["acl", role, "--node", "--user", user, "--queue", queue_name]) == 0
        redis.execute_command(*capsys.readouterr().out.replace("PASSWORD", "secret").split())
        urls.append(f"redis://{user}:secret@{server.hostname}:{server.port}{server.path}")
    words = ["node", str(PROGRAM), peer.library, *urls, queue_name]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    denied = [entry for entry in redis.acl_log() if entry["username"].startswith(f"{queue_name}-")]
    for role in ROLES:
        redis.execute_command("ACL", "DELUSER", f"{queue_name}-{role}")
    assert [(entry["username"], entry["object"]) for entry in denied] == []
    assert ended.returncode == 0, ended.stdout + ended.stderr
    done = json.loads(ended.stdout)
    assert (done["errors"], done["workers"], done["failed"]) == ([], 1, ["never"])
    assert (done["counts"]["completed"], done["counts"]["failed"], done["counts"]["active"]) == (49, 1, 0)
