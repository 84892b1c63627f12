"""The routes of a queue: one queue per target of its jobs."""

from bullrush.queue.routing.status import RouteStatus

__all__ = ["RouteStatus"]
