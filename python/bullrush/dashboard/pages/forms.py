"""``/q/NAME/add`` and ``/q/NAME/edit/ID``: the forms for one job."""

from __future__ import annotations

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.editing import copied, name_of, shown_data, stored_data


async def add_form(asked: Asked) -> Answer:
    """Return the form for a new job; with ``like`` it is filled in as another job is."""
    await demand_known(asked.queue)
    like = asked.query("like")
    name, data, options = "", "{}", "{}"
    if like is not None:
        await asked.viewer.demand("data", asked.queue_name)
        job, raw = await stored_data(asked, like)
        name, data, options = copied(asked, job, raw)
    content = {
        "queue": asked.queue_name,
        "like": like,
        "name": name,
        "data": data,
        "options": options,
        "command": command(["add"], [asked.queue_name, name or "welcome", "-"], asked.source.prefix),
    }
    return Answer("add.html", f"{asked.queue_name}: add a job", content)


async def edit_form(asked: Asked) -> Answer:
    """Return the form with the data of a job."""
    await asked.viewer.demand("data", asked.queue_name)
    job_id = asked.parts["id"] or asked.query("id") or ""
    job, raw = await stored_data(asked, job_id)
    content = {
        "queue": asked.queue_name,
        "id": job_id,
        "data": shown_data(asked, job, raw),
        "seen": name_of(raw),
        "command": command(["jobs", "update"], [asked.queue_name, job_id, "-"], asked.source.prefix),
    }
    return Answer("edit.html", f"{asked.queue_name} {job_id}: edit", content)
