"""Whether writes wait for a new master."""

from bullrush import Queue, errors


def writes_wait(url: str) -> bool:
    """Add a job; return whether the error says that it waited for the end of a failover, and was not sent."""
    with Queue("probe", url=url, timeout=200) as probe:
        try:
            probe.add("any")
        except errors.BullrushError as error:
            return "a failover is under way" in str(error)
    return False
