"""What newer versions of BullMQ do otherwise than bullrush does on a queue of theirs: the one table of it.

docs/interop.md shows it (``python -m tests.interop.newer`` writes it there), and the rooms `state` and `live` expect
their tests to fail where it says so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from .peers import NEWEST_5, NEWEST_6, Peer

PAGE: Final = Path(__file__).parents[2] / "docs" / "interop.md"
_TABLE: Final = re.compile(r"(<!-- newer -->\n\n).*?(\n<!-- end -->)", re.DOTALL)

SINCE_5: Final = (NEWEST_5, NEWEST_6)
SINCE_6: Final = (NEWEST_6,)


@dataclass(frozen=True)
class Difference:
    """One thing that some peers do otherwise than bullrush on a queue of theirs."""

    name: str
    peers: tuple[Peer, ...]
    #: What BullMQ does there, and what bullrush does.
    theirs: str
    ours: str
    #: The tests that see it: ``room/file::test``, or ``...[part]`` for those with that parameter only. Without
    #: one it is seen by random sequences.
    tests: tuple[str, ...] = ()
    #: The tests that show what BullMQ doubles or loses there; they pass.
    shown_by: tuple[str, ...] = ()

    def is_seen_by(self, test: str) -> bool:
        """Return whether a test, named without its peer, sees it."""
        name, _, parameters = test.removesuffix("]").partition("[")
        for seen in self.tests:
            of, _, part = seen.removesuffix("]").partition("[")
            if of == name and f"-{part or parameters}-" in f"-{parameters}-":
                return True
        return False


@cache
def differs(name: str, version: str) -> bool:
    """Return whether the row of that name is about a version of BullMQ.

    Raises:
        ValueError: there is no such row.
    """
    (row,) = (row for row in DIFFERENCES if row.name == name)
    return any(peer.version == version for peer in row.peers)


def reasons_to_fail(test: str, peer: Peer) -> list[str]:
    """Return why a test is expected to fail beside a peer; empty: it must pass."""
    return [row.name for row in DIFFERENCES if peer in row.peers and row.is_seen_by(test)]


def rows() -> Iterator[str]:
    """Yield the lines of the table of docs/interop.md."""
    yield "| | beside | what BullMQ does | what bullrush does |"
    yield "|-|-|-|-|"
    for row in DIFFERENCES:
        versions = ", ".join(peer.version for peer in row.peers)
        yield f"| {row.name} | {versions} | {row.theirs} | {row.ours} |"


def page(text: str) -> str:
    """Return the text of the page with the table as it should be."""
    return _TABLE.sub(lambda match: match[1] + "\n".join(rows()) + "\n" + match[2], text)


DIFFERENCES: Final = (
    Difference(
        "counts of a queue",
        SINCE_6,
        "`paused` is counted if it is asked for",
        "`get_job_counts` always names it, so that nobody overlooks jobs that a client of 5 has parked",
        ("state/test_manage.py::test_an_unknown_state_counts_nothing", "state/test_manage.py::test_counts[types0]"),
    ),
    Difference(
        "a scheduler with another rule in a paused queue",
        SINCE_6,
        "it does not find its next job in `wait`: that stays there, beside the new one, and both run",
        "its next job is replaced",
        ("state/test_upsert_scheduler.py::test_an_update_while_paused[every]",),
        ("state/test_of_6.py::test_bullmq_6_doubles_the_job_of_a_scheduler_with_another_rule_in_a_paused_queue",),
    ),
    Difference(
        "what becomes ready while a client of 5 has parked jobs in `paused`",
        SINCE_6,
        "it goes to `wait`, and is lost if a client of 5 resumes",
        "it goes to `paused`, which both versions take at a resume",
        shown_by=("state/test_of_6.py::test_a_program_of_6_that_only_looks_makes_nobody_lose_what_5_has_paused",),
    ),
    Difference(
        "a pattern that fires in a slot whose job has finished",
        SINCE_6,
        "it writes the new job over the finished one, which then is in two places",
        "it refuses (`-10`), as 5.62.0",
        shown_by=("state/test_of_6.py::test_bullmq_6_writes_the_job_of_a_scheduler_over_a_finished_one",),
    ),
    Difference(
        "`getRanges` of `paused` and then `active`, ascending",
        SINCE_6,
        "the active jobs are in descending order",
        "they are in the order that was asked for",
    ),
    Difference(
        "`keepJobs.limit`",
        SINCE_6,
        "at most so many old jobs are removed when one finishes, by default 1,000",
        "at most 500 are; the option of a job is kept and ignored",
    ),
    Difference(
        "`flowAttachmentFailed`, a field of parents while their flow is added",
        SINCE_6,
        "it keeps a parent back until all its children are known",
        "a flow is added in one call, so no parent is released in between",
    ),
    Difference(
        "option `debounce`",
        SINCE_6,
        "it is refused",
        "it is the old name of `deduplication`",
        (
            "state/test_deduplication.py::test_an_id_is_needed[debounce]",
            "state/test_deduplication.py::test_the_old_name_does_the_same",
        ),
    ),
    Difference(
        "a child with `deduplication`",
        SINCE_5,
        "it is refused",
        "it is added, or left out",
        ("state/test_deduplication.py::test_a_child_that_is_left_out_does_not_hold_its_parent_up",),
    ),
    Difference(
        "a scheduler with another rule",
        (NEWEST_5,),
        "it starts anew: a pattern at its next time, an interval now",
        "it keeps the time of the job that waits, or the grid of its interval",
        (
            *(
                f"state/test_upsert_scheduler.py::test_an_update_replaces_the_job_that_waits_in_its_slot[{rules}]"
                for rules in (
                    "{'every': 7000}",
                    "{'pattern': '* * * * *', 'tz': 'Asia/Tokyo'}",
                    "{'every': 10000}-{'pattern': '0 */5 * * * *', 'tz': 'UTC'}",
                    "{'pattern': '0 */5 * * * *', 'tz': 'UTC'}-{'every': 10000}",
                    "{'pattern': '0 */5 * * * *', 'tz': 'UTC'}-{'every': 10000, 'limit': 9}",
                )
            ),
            "state/test_upsert_scheduler.py::test_an_update_whose_job_was_lost[7000]",
        ),
    ),
    Difference(
        "a scheduler that takes over a repeatable job of the old calls",
        (NEWEST_5,),
        "it starts anew",
        "it keeps the time of the job that waits",
        ("state/test_upsert_scheduler.py::test_a_legacy_repeatable_is_taken_over_by_an_upsert",),
    ),
    Difference(
        "intervals that were missed",
        (NEWEST_5,),
        "the next time is the first one of the grid after now",
        "it is one interval later if that is nearer than one interval",
        ("state/test_schedulers.py::test_missed_slots_of_an_interval_are_skipped[9999]",),
    ),
    Difference(
        "`offset` of an interval",
        SINCE_5,
        "the first job comes at the next multiple of the interval, plus the offset",
        "it has no effect, and the first job comes now",
        ("state/test_upsert_scheduler.py::test_a_new_scheduler_has_its_first_job[repeat6]",),
    ),
    Difference(
        "times of an interval that are taken",
        (NEWEST_5,),
        "it looks at 32 of them",
        "it refuses after two (`-11`)",
        ("state/test_upsert_scheduler.py::test_slots_of_an_interval_that_are_taken[taken1]",),
    ),
    Difference(
        "a child whose parent is gone, in a queue without a version",
        SINCE_6,
        "a new parent gets it",
        "it keeps the link to the old one, as in a queue of 5",
        ("state/test_flows.py::test_a_child_whose_parent_is_gone_keeps_the_dead_link",),
    ),
    Difference(
        "`maxStartedAttempts`",
        SINCE_6,
        "a job that fails at its last start fails for good, with its own error",
        "it is retried, and the next fetch fails it: `job started more than allowable limit`",
    ),
    Difference(
        "a failure with a backoff",
        SINCE_5,
        "the call may also fetch the next job; in 6.x it sets no marker for the delayed one then",
        "the next job is fetched by a call of its own, and the marker is there for an idle worker",
        ("state/test_manual.py::test_failures[True-False-opts2]",),
    ),
    Difference(
        "a job that must fail when it is fetched",
        (NEWEST_5,),
        "`getNextJob` ends it, also for a worker by hand",
        "`get_next_job` returns it with its `deferred_failure`, as in 5.62.0 and 6.x",
        (
            "state/test_foreign.py::test_a_failed_child_does_to_its_parent_what_its_policy_says[policy1]",
            "state/test_foreign.py::test_a_failure_climbs_one_level_per_worker_step",
            "state/test_foreign.py::test_a_parent_with_failed_children_cannot_complete",
            "state/test_foreign.py::test_a_released_parent_keeps_its_delay_and_priority[policy1]",
            "state/test_flows.py::test_a_failure_deep_in_a_tree[policy1]",
            "state/test_flows.py::test_children_join_a_parent_that_waits[policy1]",
            "state/test_flows.py::test_what_a_failed_child_does[policy1]",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_a_job_over_the_stalled_limit_fails_at_its_next_fetch]",
            "state/test_retry.py::test_a_job_over_the_stalled_limit_fails_at_its_next_fetch",
        ),
    ),
    Difference(
        "the highest priority",
        SINCE_5,
        "2,097,151",
        "2,097,152",
        ("state/test_getters.py::test_counts_per_priority",),
    ),
    Difference(
        "the text for Prometheus",
        SINCE_5,
        "it has totals of finished jobs; in 6.x no `paused`",
        "it has totals where metrics are kept, and `paused`",
        ("state/test_getters.py::test_the_text_for_prometheus",),
    ),
    Difference(
        "repeatable jobs of the old calls",
        SINCE_6,
        "these calls are gone",
        "they are there",
        ("live/test_telemetry.py::test_the_span_of_a_call_is_the_same[removeRepeatableByKey]",),
    ),
    Difference(
        "the span of a job",
        SINCE_5,
        "it has `bullmq.job.attempt_finished_timestamp`",
        "it has `bullmq.job.finished.timestamp` only",
        ("live/test_telemetry.py::test_the_span_of_a_job_says_the_same",),
    ),
    Difference(
        "the span of cleaning",
        SINCE_6,
        "it has `bullmq.queue.clean.count`",
        "it has no count",
        ("live/test_telemetry.py::test_the_span_of_a_call_is_the_same[clean]",),
    ),
)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
