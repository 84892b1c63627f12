"""The jobs that a fleet gets, in the form of BullMQ, and how each must end."""

from typing import Any

#: How a job must end: the possible outcomes, and the attempts it takes.
ExpectedEnd = tuple[set[str], int]
ENDS: dict[int, ExpectedEnd] = {0: ({"completed"}, 2), 1: ({"completed"}, 3), 2: ({"failed"}, 2), 3: ({"failed"}, 1)}
COMPLETED: ExpectedEnd = ({"completed"}, 1)
FAILED: ExpectedEnd = ({"failed"}, 1)
JOBS_PER_FLOW = 6


def plain_job(n: int) -> dict[str, Any]:
    """Return a job in the form of BullMQ; its data tells handlers what to do."""
    data: dict[str, Any] = {"n": n, "ms": n % 7}
    opts: dict[str, Any] = {}
    match n % 10:
        case 0:
            opts, data["fails"] = {"attempts": 3}, 1
        case 1:
            opts, data["fails"] = {"attempts": 3, "backoff": {"type": "fixed", "delay": 50}}, 2
        case 2:
            opts, data["fails"] = {"attempts": 2}, 9
        case 3:
            opts, data["hopeless"] = {"attempts": 5}, True
        case 4:
            opts = {"priority": 1 + n % 3}
        case 5:
            opts = {"delay": n % 400}
        case 6:
            opts = {"removeOnComplete": True}
        case 7:
            opts = {"lifo": True}
        case 8 if n % 1000 == 8:
            data["forks"] = True
        case 9 if n % 100 == 9:
            data["unreadable"] = True
    return {"name": "work", "data": data, "opts": opts}


def job_with_twins(n: int) -> dict[str, Any]:
    """Return `plain_job`; some have an id for deduplication, which ten jobs share. They end like any other."""
    job = plain_job(n)
    if n % 20 == 17:
        short_lived = {"ttl": 300} if n % 40 == 17 else {}
        job["opts"]["deduplication"] = {"id": f"twin{n // 400}{'t' * len(short_lived)}", **short_lived}
    return job


def expected_end_of_plain(n: int) -> ExpectedEnd:
    """Return how `plain_job` must end."""
    return FAILED if n % 100 == 9 else ENDS.get(n % 10, COMPLETED)


def flow(n: int, queues: list[str]) -> dict[str, Any]:
    """Return a tree of six jobs over both queues.

    Its risky child fails in every second flow, with each policy in turn.
    """
    policy = (
        "failParentOnFailure",
        "ignoreDependencyOnFailure",
        "removeDependencyOnFailure",
        "continueParentOnFailure",
    )

    def node(name: str, queue: int, children: list[Any] | None = None, **data: Any) -> dict[str, Any]:
        opts = {"jobId": f"flow{n}-{name}", **({policy[n % 4]: True} if name == "risky" else {})}
        made = {"name": "node", "queueName": queues[queue], "data": {"n": n, **data}, "opts": opts}
        return {**made, "children": children} if children else made

    leaves = [node("leaf1", 0), node("leaf2", 1, ms=3)]
    risky = node("risky", 1, hopeless=True) if n % 8 < 4 else node("risky", 1)
    return node("root", 0, [node("middle", 1, leaves), risky, node("leaf3", 0)])


def expected_ends_of_flow(n: int, queues: list[str]) -> dict[str, ExpectedEnd]:
    """Return how the jobs of `flow` must end, by ``queue:id``."""
    first, second = (f"{queue}:flow{n}-" for queue in queues)
    risky, root = (FAILED, COMPLETED) if n % 8 < 4 else (COMPLETED, COMPLETED)
    if n % 8 == 0:
        root = FAILED
    if n % 8 == 3:
        # It continues as soon as the child has failed, and then fails if other children are not done.
        root = ({"completed", "failed"}, 1)
    done = dict.fromkeys([f"{first}leaf1", f"{first}leaf3", f"{second}leaf2", f"{second}middle"], COMPLETED)
    return {**done, f"{second}risky": risky, f"{first}root": root}
