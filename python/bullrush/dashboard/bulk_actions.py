"""What the buttons for many jobs do: show which jobs that would be, and change exactly those."""

from __future__ import annotations

from typing import Any

from bullrush.dashboard.answer import Asked, Done, demand_known
from bullrush.dashboard.bulk import NAMED, STATES, Bulk
from bullrush.dashboard.commands import command
from bullrush.dashboard.filtering import asked_where
from bullrush.dashboard.pages.failures import ELSEWHERE
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.selection import Selection, is_later, select
from bullrush.errors import InvalidOptionError
from bullrush.extending import Verb


async def preview(verb: Verb, asked: Asked) -> Done:
    """Note which jobs would be changed. Nothing is changed yet."""
    state = asked.field("state")
    if state not in STATES[verb]:
        raise RefusalError(409, f"Only jobs that are {' or '.join(STATES[verb])} can be meant here, not {state!r}.")
    await demand_known(asked.queue)
    given, failure = asked.form.get("where") or None, asked.form.get("failure") or None
    try:
        where = await asked_where(asked, given)
    except InvalidOptionError as error:
        raise RefusalError(400, str(error)) from None
    if failure is not None and state != "failed":
        raise RefusalError(409, "Only failed jobs belong to a failure.")
    selected = await select(asked, state, where, failure, newest_first=verb == "remove")
    bulk = _bulk(asked, verb, state, {"where": given, "failure": failure}, selected)
    asked.bulks.keep(bulk)
    text = f"{bulk.count:,} {'job fits' if bulk.count == 1 else 'jobs fit'}. Nothing is changed yet."
    return Done(asked.queue_name, text, bulk.command, page=("bulk", bulk.id), further={"preview": bulk.id})


async def make(verb: Verb, asked: Asked) -> Done:
    """Change the jobs of a preview that are still as they were."""
    bulk = asked.bulks.of(asked.viewer.name, asked.queue_name, asked.field("preview"))
    if bulk.verb != verb:
        raise RefusalError(409, "This preview is of another change.")

    def note() -> None:
        meant = {"state": bulk.state, **bulk.filter}
        asked.note(f"{verb} many", sentence(bulk), done=bulk.trouble is None, filter=meant, counts=bulk.counts())

    # It may go on behind this request, so it has a handle of its own.
    await asked.bulks.start(bulk, asked.source.queue_to_change(asked.queue_name), note)
    content = await content_as_seen(asked, bulk)
    return Done(asked.queue_name, content["sentence"], bulk.command, page=("bulk", bulk.id), further=content)


async def retry_group(asked: Asked) -> Done:
    """Run exactly the jobs of a group of failures again, up to those that the page has shown."""
    failure, shown = asked.field("failure"), asked.field("until")
    until = int(shown) if shown.isascii() and shown.isdigit() else 0
    selected = await select(asked, "failed", None, failure, newest_first=True)
    later = [job for job in selected.jobs if is_later(job, until)]
    fitting = selected._replace(jobs=[job for job in selected.jobs if not is_later(job, until)])
    bulk = _bulk(asked, "retry", "failed", {"failure": failure}, fitting)
    await bulk.run(asked.queue)
    text = f"{bulk.done:,} {'job waits' if bulk.done == 1 else 'jobs wait'} again."
    if bulk.trouble is not None:
        raise RefusalError(503, f"{text} {bulk.trouble}")
    if stayed := len(later) + bulk.meanwhile + bulk.refused:
        text += f" {stayed:,} stayed where they are."
    reasons = [f"{job.id}: it ran again meanwhile" for job in later] + bulk.reasons
    return Done(asked.queue_name, text, bulk.command, reasons[:NAMED], counts=bulk.counts())


async def content_as_seen(asked: Asked, bulk: Bulk) -> dict[str, Any]:
    """Return what this viewer sees of a change: errors may name jobs of queues that the viewer may not see."""

    async def seen(text: str) -> str:
        return text if await asked.viewer.names_only_seen(text) else f"It is about {ELSEWHERE[3:]}."

    content = {**bulk.content(), "reasons": [await seen(text) for text in bulk.reasons]}
    return {**content, "trouble": bulk.trouble and await seen(bulk.trouble), "sentence": await seen(sentence(bulk))}


def sentence(bulk: Bulk) -> str:
    """Say what a change would do, does, or has done."""
    jobs = f"{bulk.count:,} {bulk.state} {'job' if bulk.count == 1 else 'jobs'}"
    if bulk.begun is None:
        what = {"retry": "run again", "promote": "may run now", "remove": "be gone for good; children stay"}[bulk.verb]
        would = "" if bulk.verb == "promote" else "would "
        return f"{jobs} {would}{what}. Nothing is changed yet."
    if bulk.ended is None:
        return f"{bulk.done + bulk.meanwhile + bulk.refused:,} of {jobs} are done."
    done = {"retry": "run again", "promote": "may run now", "remove": "are removed"}[bulk.verb]
    said = f"{bulk.done:,} of {jobs} {done}."
    if bulk.meanwhile:
        said += f" {bulk.meanwhile:,} had moved meanwhile and {'was' if bulk.meanwhile == 1 else 'were'} left alone."
    if bulk.refused:
        said += f" {bulk.refused:,} could not be changed."
    if bulk.trouble:
        said += f" It stopped before its end: {bulk.trouble} Make the preview again for the rest."
    return said


def _bulk(asked: Asked, verb: Verb, state: str, filter: dict[str, str | None], selected: Selection) -> Bulk:
    given = {name: value for name, value in filter.items() if value is not None}
    options = [f"--{name}={value}" for name, value in given.items()] or ["--all"]
    kept = ["--keep-children"] if verb == "remove" else []
    words = ["jobs", verb, "--state", state, *options, *kept]
    by_hand = command(words, [asked.queue_name], asked.source.prefix)
    whose = asked.viewer.name
    return Bulk(whose, asked.queue_name, verb, state, given, *selected, by_hand)
