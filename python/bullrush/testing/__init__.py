"""For tests of programs that use bullrush: jobs without Redis, running what is queued, assertions, a clock.

The pytest fixtures ``bullrush_url`` and ``bullrush_clock`` come with the package; see `bullrush.pytest_plugin`.
"""

from bullrush.testing.clock import Clock
from bullrush.testing.enqueued import assert_enqueued
from bullrush.testing.jobs import make_job
from bullrush.testing.override import override
from bullrush.testing.work import awork, work

__all__ = ["Clock", "assert_enqueued", "awork", "make_job", "override", "work"]
