"""The checks of the doctor by number: what is wrong, how bad it is, what to do. ``docs/doctor.md`` has this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

#: fault: jobs are lost, wait for nobody or can do so at any moment. warning: this will be a fault one day.
Severity: TypeAlias = Literal["fault", "warning"]


@dataclass(frozen=True)
class Code:
    """One check.

    Attributes:
        title: what is wrong.
        severity: how bad it is.
        advice: what to do.
        repair: what ``--fix`` does; "" if that is nothing.
    """

    title: str
    severity: Severity
    advice: str
    repair: str = ""


#: By number: BR0 the server, BR1 a queue, BR2 the jobs of a queue, which only ``--deep`` reads, BR3 this machine.
CODES: Final[dict[str, Code]] = {
    "BR001": Code("The server is too old", "fault", "Upgrade Redis to 6.2 or later"),
    "BR002": Code(
        "The server is a replica, which refuses to write", "fault", "Give the URL of the master, or of the Sentinels"
    ),
    "BR003": Code("Redis may evict keys", "fault", "Set maxmemory-policy to noeviction: other policies remove jobs"),
    "BR004": Code(
        "Redis writes nothing to disk",
        "warning",
        "Set appendonly to yes if jobs must survive a restart of the server",
    ),
    "BR005": Code("The last write to disk failed", "fault", "Read the log of the server, and look for a full disk"),
    "BR006": Code("The memory is nearly full", "fault", "Raise maxmemory, or remove finished jobs by a rule"),
    "BR007": Code(
        "The clocks of this machine and of the server differ",
        "warning",
        "Run a time service (NTP) on all machines: delays and schedulers use the clocks of the clients",
    ),
    "BR008": Code("The connections are nearly used up", "fault", "Raise maxclients, or find who opens so many"),
    "BR009": Code(
        "The user lacks rights that its programs need",
        "fault",
        "Give the user the rights that `bullrush acl producer worker` prints, or say with --role what it is for",
    ),
    "BR010": Code(
        "The keys of a queue have no hash tag on a cluster",
        "fault",
        "Use a prefix or a name in braces, such as {bull}, and move the jobs there",
    ),
    "BR011": Code(
        "A master of the cluster does not answer",
        "fault",
        "Look at that server: jobs of its queues wait until it or a replica of it answers",
    ),
    "BR012": Code(
        "The server refuses all writes, since it has too few replicas",
        "fault",
        "Look at its replicas, or lower min-replicas-to-write",
    ),
    "BR101": Code(
        "Bull and BullMQ use the same keys",
        "fault",
        "Stop BullMQ's programs when none of their jobs is left, delete the keys that `bullrush migrate` names, and "
        "move Bull's jobs with it to another prefix",
    ),
    "BR102": Code(
        "A paused queue has jobs in `wait` and in `paused`, of BullMQ 6 and 5",
        "fault",
        "Resume it with bullrush or with BullMQ 6: BullMQ 5 would lose the jobs in `wait`",
        "joins both lists in the order in which the jobs run",
    ),
    "BR103": Code(
        "Jobs are in `paused`, but the queue is not paused",
        "fault",
        "Resume the queue: no worker takes them",
        "resumes the queue",
    ),
    "BR104": Code(
        "A key of the queue has another type",
        "fault",
        "Delete the key after a look at it: a program wrote it that does not know the queue, or a job had its name as "
        "id",
    ),
    "BR105": Code(
        "There are keys of BullMQ before version 4",
        "warning",
        "Upgrade programs that still use it",
        "deletes the key `priority`",
    ),
    "BR106": Code(
        "A rate limit has no end",
        "fault",
        "Remove it: no job of a worker with a limiter starts again",
        "removes the current rate limit",
    ),
    "BR107": Code(
        "Jobs wait, and no worker is connected",
        "fault",
        "Start a worker of this queue; if it is served by a worker of several queues, which is connected under the "
        "first of them, give that one more slots",
    ),
    "BR108": Code(
        "Workers are connected and take no jobs: they are deaf, if they are not paused",
        "fault",
        "Restart the workers that are named if they are not paused and take jobs without a target; look at their logs "
        "first",
    ),
    "BR109": Code(
        "Several connected workers have the same name",
        "warning",
        "Give each worker its own name, else `processedBy` does not tell which one ran a job; one of them may be the "
        "rest of a machine that has gone",
    ),
    "BR110": Code(
        "Active jobs have no lock: their worker died",
        "fault",
        "Start a worker: its check for stalled jobs moves them back to wait, after at most two of its intervals",
    ),
    "BR111": Code(
        "A lock of an active job never expires",
        "fault",
        "Set a time to live: if its worker has died, nobody else runs the job",
        "lets the lock expire after 30 s; a worker that lives renews it",
    ),
    "BR112": Code(
        "A job scheduler makes no more jobs",
        "fault",
        "Write the scheduler again, or run `bullrush doctor --fix` if it has no limit. A connected worker of bullrush "
        "does it, too, but only two minutes after the time of the missing job, whose run is lost then",
        "writes the scheduler again, if it has no limit",
    ),
    "BR113": Code(
        "The event stream is too short for its listeners",
        "warning",
        "Raise streams={'events': {'max_len': ...}} of all queues: a listener that is away for a moment misses events",
    ),
    "BR114": Code(
        "Finished jobs are kept for ever",
        "warning",
        "Give jobs or workers remove_on_complete and remove_on_fail, and remove old jobs with `bullrush clean`",
    ),
    "BR115": Code(
        "A program uses the queue with a version of BullMQ that does not fit",
        "fault",
        "Upgrade it to BullMQ 5 or 6; a later version may need a later bullrush",
    ),
    "BR116": Code(
        "Many jobs have failed",
        "warning",
        "Look at why (`bullrush jobs list QUEUE --state failed`), then retry or remove them: nobody else does",
    ),
    "BR117": Code(
        "Jobs wait in a queue of Bull that has moved",
        "fault",
        "Run `bullrush migrate` again, and change the program with Bull that has added them, or use `--bridge`",
    ),
    "BR201": Code(
        "Jobs that have not run are in no list and no set",
        "fault",
        "Remove them with Queue.remove_orphaned_jobs(), then add again what is still wanted: no worker will ever find "
        "them, and while they are there an add with the same id is a duplicate",
    ),
    "BR202": Code(
        "Finished jobs are in no set",
        "warning",
        "Remove them with Queue.remove_orphaned_jobs(): no rule ever will",
        "removes them",
    ),
    "BR203": Code(
        "Lists or sets have ids without a job",
        "fault",
        "Remove the ids: a worker that takes one has no data",
        "removes the ids",
    ),
    "BR204": Code(
        "Jobs are in two places",
        "fault",
        "Take each out of the wrong one, with `LREM bull:QUEUE:STATE 0 ID` for a list (wait, paused, active) and `ZREM "
        "bull:QUEUE:STATE ID` for the others, or it runs twice; tell us how it came about",
    ),
    "BR205": Code(
        "A parent waits for children that do not exist",
        "fault",
        "Remove the parent and add the flow again: it never runs",
    ),
    "BR206": Code(
        "Jobs have a parent that does not exist",
        "warning",
        "Remove them if only their parent needs their results",
    ),
    "BR207": Code(
        "Deduplication ids belong to jobs that do not exist",
        "fault",
        "Free them with Queue.remove_deduplication_key(): each add with such an id is ignored",
        "frees them",
    ),
    "BR301": Code(
        "Embedded servers have left directories",
        "warning",
        "Delete them",
        "deletes them",
    ),
}
