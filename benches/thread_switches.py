"""What does it cost Python to wake one of 100 threads, or one of 100 coroutines, for each call?

No queue and no Redis: each thread, or coroutine, sleeps for a millisecond again and again. A thread that is woken takes
the GIL from another one, so this is the least that a call of ``Queue.add`` costs more in threads than with asyncio.
"""

from __future__ import annotations

from benches.contenders import bullrush
from benches.harness.contender import RATE
from benches.harness.question import Question
from benches.harness.switching import CLIENT_US, Switch

_INFLIGHT = {"inflight": 100}

QUESTIONS = (
    Question(
        name="thread_switches",
        title="Waits of 1 ms per second, 100 at a time, without a queue",
        work=Switch(),
        contenders=(
            bullrush("coroutines that only wait", "wait_async", _INFLIGHT),
            bullrush("threads that only wait", "wait_threads", _INFLIGHT),
        ),
        figures=(RATE, CLIENT_US),
    ),
)
