"""What remains of the differences when Redis writes everything to an append-only file, with an fsync every second?"""

from __future__ import annotations

from dataclasses import replace

from benches import bulk_add, process, single_add
from benches.harness.question import Question
from benches.harness.server import Setup

QUESTIONS: tuple[Question, ...] = tuple(
    replace(
        question,
        name=f"{question.name}_aof",
        title=f"{question.title}; Redis persists (AOF, everysec)",
        setup=Setup(aof=True),
        contenders=tuple(contender for contender in question.contenders if not contender.extra),
        goals=(),
        core=False,
    )
    for question in (bulk_add.QUESTIONS[0], single_add.QUESTIONS[0], process.QUESTIONS[0])
)
