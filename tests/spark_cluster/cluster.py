"""A Spark cluster in standalone mode on this machine: a master, two workers of one core each, and their executors."""

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyspark

from bullrush.spark.java import use_java
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
#: Two host names, since Spark never starts a speculative copy on the host of the original.
HOSTS = ("127.0.0.1", "127.0.0.2")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "700m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "20",
    # Killed executors are replaced, however many there were.
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
}
#: Options of `drain` for one worker per executor. The locks of a killed worker expire soon.
DRAIN: dict[str, Any] = {
    "workers": 2,
    "concurrency": 8,
    "lock_duration": 5_000,
    "stalled_interval": 1_000,
    "returns": "n long",
}
#: An environment variable of the second worker, which its executors inherit.
GPU = "CLUSTER_GPU"
_PR_SET_PDEATHSIG = 1


class Cluster:
    """A running cluster.

    Args:
        folder: for logs and the files of the executors.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> "Cluster":
        use_java()
        try:
            self.master = self._started("master", r"Starting Spark master at (spark://\S+)", HOSTS[0])
            for number, host in enumerate(HOSTS):
                place = ("-c", "1", "-m", "1g", "-d", str(self._folder / f"work-{number}"), self.master)
                more = {GPU: "1"} if number == 1 else {}
                self._started(f"worker-{number}", "(Successfully registered with master)", host, *place, **more)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill all processes of the cluster, also those that executors forked into groups of their own."""
        victims = [child for daemon in self._daemons for child in _children(daemon.pid)]
        for daemon in self._daemons:
            with suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        for process in victims:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(victims, timeout=10)

    @contextmanager
    def session(self, **settings: str) -> Iterator["SparkSession"]:
        """Start a session with an executor on each worker, and stop it at the end."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(self.master).appName("cluster tests")
        for name, value in {**SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            self.wait_for_executors()
            yield session
        finally:
            session.stop()
            wait_until(lambda: not self.executors(), "the executors end with their session")

    def wait_for_executors(self, other_than: frozenset[int] = frozenset()) -> frozenset[int]:
        """Wait until each worker has an executor which is none of those, and return their process ids."""

        def running() -> frozenset[int]:
            found = frozenset(process.pid for process in self.executors()) - other_than
            return found if len(found) == len(HOSTS) else frozenset()

        return wait_until(running, "an executor on each worker", seconds=60)

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs of the executors."""
        return _matching(
            [child for worker in self._daemons[1:] for child in _children(worker.pid)],
            lambda process: "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()),
        )

    def gpu_executors(self) -> list[psutil.Process]:
        """Return the JVM of the executor on the second worker."""
        return _matching(self.executors(), lambda process: GPU in process.environ())

    def python_workers(self) -> list[psutil.Process]:
        """Return the processes in which tasks run Python: what the daemons of the executors forked."""
        executors = self.executors()
        daemons = {executor.pid for executor in executors}
        return _matching(
            [child for executor in executors for child in _children(executor.pid)],
            lambda process: "pyspark.daemon" in " ".join(process.cmdline()) and process.ppid() not in daemons,
        )

    def _started(self, name: str, sign: str, host: str, *arguments: str, **variables: str) -> str:
        """Start a daemon at free ports, wait until its log has a sign, and return what it says."""
        home = Path(pyspark.__file__).parent
        kind = name.partition("-")[0]
        command = (
            "org.apache.spark.deploy." + f"{kind}.{kind.capitalize()}",
            "-h",
            host,
            "-p",
            "0",
            "--webui-port",
            "0",
        )
        log = self._folder / f"{name}.log"
        with log.open("wb") as output:
            daemon = subprocess.Popen(
                [home / "bin" / "spark-class", *command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": host,
                    "SPARK_DAEMON_MEMORY": "200m",
                    **variables,
                },
                preexec_fn=_own_group_that_ends_with_this_process,
            )
        self._daemons.append(daemon)

        def said() -> str:
            text = log.read_text(errors="replace")
            assert daemon.poll() is None, f"the {name} ended:\n{text[-2000:]}"
            found = re.search(sign, text)
            return found[1] if found else ""

        return wait_until(said, f"the {name} is up", seconds=60)


def _own_group_that_ends_with_this_process() -> None:
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _matching(processes: list[psutil.Process], condition: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if process.status() != psutil.STATUS_ZOMBIE and condition(process):
                found.append(process)
    return found
