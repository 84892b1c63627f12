"""What newer versions of BullMQ do otherwise than the floor: the one table of it.

docs/interop.md shows it (``python -m tests.interop.newer`` writes it there), the rooms `state` and `live` expect their
tests to fail where it says so, and the random play can look past a row.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.interop.sides.state import State

from .peers import NEWEST_5, NEWEST_6, Peer

PAGE: Final = Path(__file__).parents[2] / "docs" / "interop.md"
_TABLE: Final = re.compile(r"(<!-- newer -->\n\n).*?(\n<!-- end -->)", re.DOTALL)

SINCE_5: Final = (NEWEST_5, NEWEST_6)
SINCE_6: Final = (NEWEST_6,)


@dataclass(frozen=True)
class Difference:
    """One thing that some peers do otherwise than the floor, and that bullrush does as the floor also beside them."""

    name: str
    peers: tuple[Peer, ...]
    #: What BullMQ does there, and what bullrush does.
    theirs: str
    ours: str
    #: The tests that see it: ``room/file::test``, or ``...[part]`` for those with that parameter only. Without
    #: one it is seen by random sequences.
    tests: tuple[str, ...] = ()
    #: Makes the state of both sides equal where they differ only in this.
    look_past: Callable[[State], State] | None = None

    def is_seen_by(self, test: str) -> bool:
        """Return whether a test, named without its peer, sees it."""
        name, _, parameters = test.removesuffix("]").partition("[")
        for seen in self.tests:
            of, _, part = seen.removesuffix("]").partition("[")
            if of == name and f"-{part or parameters}-" in f"-{parameters}-":
                return True
        return False


def reasons_to_fail(test: str, peer: Peer) -> list[str]:
    """Return why a test is expected to fail beside a peer; empty: it must pass."""
    return [row.name for row in DIFFERENCES if peer in row.peers and row.is_seen_by(test)]


def looking_past(peer: Peer) -> Callable[[State], State]:
    """Return a view of states in which the differences that can be looked past are gone."""
    views = [row.look_past for row in DIFFERENCES if peer in row.peers and row.look_past]

    def view(state: State) -> State:
        for one in views:
            state = one(state)
        return state

    return view


def _with_values(state: State, kind: str, change: Callable[[Any], Any]) -> State:
    return {
        key: {**entry, "value": change(entry["value"])} if entry["type"] == kind else entry
        for key, entry in state.items()
    }


def _without_debounced(state: State) -> State:
    def kept(entries: Any) -> Any:
        if isinstance(entries, dict):
            return {job: kept(of_job) for job, of_job in entries.items()}
        return [fields for fields in entries if dict(fields)["event"] != "debounced"]

    return _with_values(state, "stream", kept)


def _without_next_job(state: State) -> State:
    return _with_values(state, "hash", lambda fields: {name: fields[name] for name in fields if name != "nrjid"})


def _with_paused_jobs_waiting(state: State) -> State:
    joined = dict(state)
    for key in [key for key in state if key.endswith("paused") and state[key]["type"] == "list"]:
        waiting = key.removesuffix("paused") + "wait"
        paused = joined.pop(key)
        joined[waiting] = {**paused, "value": [*paused["value"], *joined.get(waiting, {"value": []})["value"]]}
    return joined


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
        "pause",
        SINCE_6,
        "jobs stay in `wait`, also those that are added, and there is no list `paused`",
        "`wait` becomes `paused`, as in 5.62.0; where both lists are there, each call sees both",
        (
            "state/test_add.py::test_adding_while_paused",
            "state/test_clean.py::test_every_state_can_be_cleaned[paused]",
            "state/test_clean.py::test_the_grace[paused]",
            "state/test_clean.py::test_which_time_of_a_job_counts[paused]",
            "state/test_deduplication.py::test_adding_while_paused",
            "state/test_fetch.py::test_due_jobs_are_promoted_even_while_paused",
            "state/test_fetch.py::test_nothing_is_fetched_while_paused",
            "state/test_finish.py::test_drained_while_paused",
            "state/test_flows.py::test_a_flow_in_one_queue_while_it_is_paused",
            "state/test_foreign.py::test_a_child_in_a_paused_parents_queue",
            "state/test_manage.py::test_an_unknown_state_counts_nothing",
            "state/test_manage.py::test_change_priority_in_other_states",
            "state/test_manage.py::test_counts",
            "state/test_manage.py::test_drain",
            "state/test_manage.py::test_pause_and_resume_with_jobs_in_every_state",
            "state/test_manage.py::test_promote_while_paused",
            "state/test_manage.py::test_promoting_many_leaves_what_promoting_each_leaves[True]",
            "state/test_manage.py::test_remove_in_every_state",
            "state/test_manage.py::test_retry_while_paused",
            "state/test_manage.py::test_states",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_a_move_to_wait_while_paused]",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_drained_while_paused]",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_due_jobs_are_promoted_even_while_paused]",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_nothing_is_fetched_while_paused]",
            "state/test_manual.py::test_the_public_api_does_what_the_scripts_do[test_the_stalled_pass_while_paused]",
            "state/test_retry.py::test_a_move_to_wait_while_paused",
            "state/test_retry.py::test_a_retry_while_paused[0]",
            "state/test_retry.py::test_the_stalled_pass_while_paused",
            "state/test_upsert_scheduler.py::test_an_update_while_paused[every]",
            "state/test_work.py::test_nothing_is_worked_while_paused",
        ),
        look_past=_with_paused_jobs_waiting,
    ),
    Difference(
        "event `debounced`",
        SINCE_6,
        "a job that is left out has the event `deduplicated` only",
        "it has `debounced`, too",
        (
            "state/test_deduplication.py::test_a_bulk_of_all_kinds_keeps_its_order",
            "state/test_deduplication.py::test_a_child_that_is_left_out_does_not_hold_its_parent_up",
            *(
                f"state/test_deduplication.py::{test}"
                for mode in ("simple", "throttle", "throttle, extended", "extended without ttl", "no ttl")
                for test in (
                    f"test_a_job_that_finishes[{mode}]",
                    f"test_a_job_while_one_of_its_id_waits[{mode}]",
                    f"test_what_frees_the_id[{mode}-promote]",
                )
            ),
            "state/test_deduplication.py::test_a_job_that_is_tried_again_keeps_its_id",
            "state/test_deduplication.py::test_a_job_while_one_of_its_id_waits[opts1]",
            "state/test_deduplication.py::test_one_mode_after_another",
            "state/test_deduplication.py::test_the_marker_after_a_call_that_adds_delayed_jobs_and_replaces_one",
        ),
        look_past=_without_debounced,
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
        SINCE_6,
        "it is refused",
        "it is added, or left out",
        ("state/test_deduplication.py::test_a_child_that_is_left_out_does_not_hold_its_parent_up",),
    ),
    Difference(
        "the next job of a scheduler",
        SINCE_6,
        "the job that was taken does not name it; its data are those of the template only",
        "the job that was taken names it in `nrjid`; without data in the template, it has those of that job",
        (
            "state/test_schedulers.py::test_a_retried_iteration_produces_nothing_twice",
            "state/test_schedulers.py::test_a_schedulers_current_job_cannot_be_removed",
            "state/test_schedulers.py::test_a_series_ends_at_its_end_date",
            "state/test_schedulers.py::test_a_series_ends_at_its_limit",
            "state/test_schedulers.py::test_a_series_goes_on",
            "state/test_schedulers.py::test_a_series_while_paused",
            "state/test_schedulers.py::test_a_series_with_a_start_date",
            "state/test_schedulers.py::test_a_stalled_iteration_comes_back_without_a_limit",
            "state/test_schedulers.py::test_data_that_only_the_job_taken_has_is_inherited",
            "state/test_schedulers.py::test_drain_spares_the_schedulers_job",
            "state/test_schedulers.py::test_missed_slots_of_an_interval_are_skipped",
            "state/test_schedulers.py::test_obliterate_takes_the_schedulers_along[True]",
            "state/test_schedulers.py::test_the_next_iteration_comes_with_a_finish",
            "state/test_upsert_scheduler.py::test_a_scheduler_is_removed_with_its_delayed_job_only[active]",
            "state/test_upsert_scheduler.py::test_a_scheduler_is_removed_with_its_delayed_job_only[every-waiting]",
            "state/test_upsert_scheduler.py::test_an_update_replaces_the_job_that_waits_in_its_slot",
            "state/test_upsert_scheduler.py::test_an_update_while_its_job_runs",
            "state/test_upsert_scheduler.py::test_schedulers_beside_each_other",
            "state/test_upsert_scheduler.py::test_template_options_of_other_features_reach_this_job_and_the_next",
            "state/test_upsert_scheduler.py::test_template_options_reach_this_job_and_the_next",
            "state/test_work.py::test_a_foreign_schedulers_job",
        ),
        look_past=_without_next_job,
    ),
    Difference(
        "a scheduler with another rule",
        SINCE_5,
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
        SINCE_5,
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
        SINCE_5,
        "it looks at 32 of them",
        "it refuses after two (`-11`)",
        ("state/test_upsert_scheduler.py::test_slots_of_an_interval_that_are_taken[taken1]",),
    ),
    Difference(
        "a finished job with a priority that is retried",
        SINCE_6,
        "it goes into `prioritized`",
        "it goes into `wait`",
        ("state/test_manage.py::test_retry_of_a_finished_job[opts2]",),
    ),
    Difference(
        "failed children that are retried all at once",
        SINCE_6,
        "the parent waits for them again",
        "the parent does not",
        ("state/test_foreign.py::test_retry_of_a_failed_child[True-policy1]",),
    ),
    Difference(
        "a child whose parent is gone",
        SINCE_6,
        "a new parent gets it",
        "it keeps the link to the old one",
        (
            "state/test_flows.py::test_a_child_whose_parent_is_gone_keeps_the_dead_link",
            "state/test_flows.py::test_a_job_that_exists_gets_a_parent[dead]",
        ),
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
        "the call may also fetch the next job",
        "the next job is fetched by a call of its own",
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
        "attributes of spans",
        SINCE_6,
        "a job has `bullmq.job.attempt_finished_timestamp`; cleaning has `bullmq.queue.clean.count`",
        "a job has `bullmq.job.finished.timestamp`; cleaning has no count",
        (
            "live/test_telemetry.py::test_the_span_of_a_call_is_the_same[clean]",
            "live/test_telemetry.py::test_the_span_of_a_job_says_the_same",
        ),
    ),
)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
