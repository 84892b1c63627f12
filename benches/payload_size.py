"""What remains of the differences when each job carries 10 kB instead of 100 bytes?"""

from __future__ import annotations

from dataclasses import replace

from benches import bulk_add, process
from benches.harness.question import Question

QUESTIONS: tuple[Question, ...] = tuple(
    replace(
        question,
        name=f"{question.name}_10_kb",
        title=f"{question.title}; 10 kB of data each",
        payload=10_000,
        share=question.share * 0.1,
        contenders=tuple(contender for contender in question.contenders if not contender.extra),
        goals=(),
        core=False,
    )
    for question in (bulk_add.QUESTIONS[0], process.QUESTIONS[0])
)
