"""All questions, in the order of the documentation."""

from __future__ import annotations

from benches import bulk_add, concurrent_add, process, single_add
from benches.harness.question import Question

QUESTIONS: dict[str, Question] = {
    question.name: question
    for module in (bulk_add, single_add, concurrent_add, process)
    for question in module.QUESTIONS
}
