"""What the forms for one job do: add a job, and replace the data of one."""

from __future__ import annotations

import json
from hashlib import blake2s
from typing import Final, NoReturn

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked, Done, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.refusal import RefusalError
from bullrush.errors import DataError, InvalidOptionError, MalformedJobError
from bullrush.extending import JSON, reply, run_async

#: Longer data are no text that somebody edits in a browser.
LONGEST: Final = 1_000_000
#: These options name other queues, of which the viewer may know nothing.
_ELSEWHERE: Final = ("parent", "target")
#: What a copy of a job does not have of it: what is its own, or of its scheduler, and what would keep a copy out.
_OWN: Final = frozenset(
    {
        "debounce",
        "deduplication",
        "delay",
        "job_id",
        "parent",
        "prev_millis",
        "repeat",
        "repeat_job_key",
        "target",
        "telemetry",
        "timestamp",
    }
)
_MASKED: Final = "This job has masked values, so it cannot be edited or copied here."


async def add(asked: Asked) -> Done:
    """Add a job."""
    await demand_known(asked.queue)
    name = asked.field("name")
    data = read_json(asked.form.get("data") or "{}", "The data")
    options = read_json(asked.form.get("options") or "{}", "The options")
    if not isinstance(options, dict):
        raise RefusalError(400, 'The options must be an object, such as {"attempts": 3}.')
    for option in _ELSEWHERE:
        if option in options:
            raise RefusalError(400, f"The option {option!r} names another queue: add such a job by a program.")
    given = options.get("job_id")
    if isinstance(given, str) and await asked.queue.get_job(given) is not None:
        raise RefusalError(409, f"There is a job {given!r} already, so nothing was added.")
    try:
        job = await asked.queue.add(name, data, **options)
    except (InvalidOptionError, DataError) as error:
        raise RefusalError(400, f"Nothing was added: {error}.") from None
    text = f"Job {job.id} is added."
    if options.keys() & {"deduplication", "debounce"}:
        text = f"Job {job.id} is added, or was there already with this deduplication id."
    # The data may be long, and a secret.
    by_hand = command(["add"], [asked.queue_name, name, "-"], asked.source.prefix)
    return Done(asked.queue_name, text, by_hand, job=job.id, further={"id": job.id})


async def edit(asked: Asked) -> Done:
    """Replace the data of a job, unless they have changed since the form was made."""
    await asked.viewer.demand("data", asked.queue_name)
    job_id, seen = asked.field("id"), asked.field("seen")
    data = read_json(asked.field("data"), "The data")
    found, raw = await stored_data(asked, job_id)
    _demand_unmasked(asked, found, raw)
    if name_of(raw) != seen:
        raise RefusalError(409, "The data have changed since this form was made: open it again. Nothing was changed.")
    try:
        await found.update_data(data)
    except DataError as error:
        raise RefusalError(400, f"Nothing was changed: {error}.") from None
    state = await found.get_state()
    text = f"The data of job {job_id} are replaced."
    if state == "active":
        text += " The attempt that runs has the old data."
    elif state in ("failed", "completed"):
        text += f" It stays {state}: retry it to run it with these."
    by_hand = command(["jobs", "update"], [asked.queue_name, job_id, "-"], asked.source.prefix)
    return Done(asked.queue_name, text, by_hand, job=job_id)


async def stored_data(asked: Asked, job_id: str) -> tuple[Job, bytes]:
    """Return a job, and its data as they are stored.

    Raises:
        RefusalError: there is no such job, or its data are too long.
    """
    found = await asked.queue.get_job(job_id)
    if found is None:
        raise RefusalError.no_job(asked.queue_name, job_id)
    [[raw]] = await run_async(_data(asked, job_id))
    if raw is not None and len(raw) > LONGEST:
        raise RefusalError(409, "The data are too long to be edited here: 'bullrush jobs update' takes a file.")
    return found, raw or b"{}"


def shown_data(asked: Asked, job: Job, raw: bytes) -> str:
    """Return the data of a job as a text to edit.

    Raises:
        RefusalError: the viewer may not see all of them: they would be replaced by what hides them.
    """
    _demand_unmasked(asked, job, raw)
    return json.dumps(_decoded(raw), indent=2, ensure_ascii=False)


def copied(asked: Asked, job: Job, raw: bytes) -> tuple[str, str, str]:
    """Return the name, the data and the options that a copy of a job has.

    Raises:
        RefusalError: the viewer may not see all of them, or the options cannot be read.
    """
    data = shown_data(asked, job, raw)
    try:
        options = {name: value for name, value in job.opts.items() if name not in _OWN}
    except MalformedJobError:
        raise RefusalError(409, "The options of this job are no JSON, so it cannot be copied.") from None
    veil = asked.masks.veil(_decoded(raw), job.returnvalue)
    if veil.text(job.name) != job.name or veil.value(options) != options:
        raise RefusalError(409, _MASKED)
    return job.name, data, json.dumps(options, indent=2, ensure_ascii=False)


def name_of(raw: bytes) -> str:
    """Return what names data: other data have another name."""
    return blake2s(raw, digest_size=12).hexdigest()


def read_json(text: str, what: str) -> JSON:
    """Return a JSON value that somebody has typed.

    Raises:
        RefusalError: it is not JSON; the sentence says where.
    """
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise RefusalError(400, f"{what} must be JSON: {error.msg} at {place}. Nothing was changed.") from None
    except (ValueError, RecursionError) as error:
        raise RefusalError(400, f"{what} must be JSON: {error}. Nothing was changed.") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _demand_unmasked(asked: Asked, job: Job, raw: bytes) -> None:
    data = _decoded(raw)
    if asked.masks.veil(data, job.returnvalue).value(data) != data:
        raise RefusalError(409, _MASKED)


def _decoded(raw: bytes) -> JSON:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise RefusalError(409, "The data are no JSON, so they cannot be edited here.") from None


async def _data(asked: Asked, job_id: str) -> list[list[bytes | None]]:
    return await reply(asked.queue.core.job_fields([job_id], ["data"]))
