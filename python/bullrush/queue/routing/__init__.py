"""The routes of a queue: one queue per target of its jobs."""
