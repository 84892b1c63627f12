"""Comparison on real clocks: a time becomes its distance from the start, in steps longer than a slow machine needs."""

import json
import re
from typing import Any

from .state import State

#: Delays in these tests are multiples of this; two sides that do a step within this time have the same distance.
STEP_MS = 60_000

#: Exactly 13 digits: a time in ms since 1970, as a value or inside a name.
MOMENT = re.compile(r"(?<!\d)1\d{12}(?!\d)")
FIRST_MOMENT, LAST_MOMENT = 1e12, 2e12


def without_times(state: State, origin: int) -> State:
    """Replace every time by its distance from ``origin``, tokens and stack traces by their comparable part."""

    def distance(moment: float) -> str:
        return f"T+{round((moment - origin) / STEP_MS)}"

    def text(value: str) -> str:
        return MOMENT.sub(lambda found: distance(int(found[0])), value)

    def score(value: float) -> Any:
        if FIRST_MOMENT < value < LAST_MOMENT:
            return distance(value)
        if FIRST_MOMENT < value / 4096 < LAST_MOMENT:
            return distance(value / 4096)
        return value

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, float):
            return score(value)
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {text(key): coarse(item) if key == "delay" else plain(item) for key, item in value.items()}
        return value

    def coarse(delay: Any) -> Any:
        return round(float(delay) / STEP_MS) * STEP_MS

    compared = {}
    for key, entry in state.items():
        value = plain(entry["value"])
        if key.endswith(":lock"):
            value = "token"
        elif isinstance(value, dict) and "stacktrace" in value:
            value["stacktrace"] = f"{len(json.loads(value['stacktrace']))} traces"
        compared[text(key)] = {**entry, "value": value}
    return compared


def without_wake_ups(state: State) -> State:
    """Drop the marker: whether an idle worker has taken it already is not determined."""
    return {key: entry for key, entry in state.items() if not key.endswith("marker")}


def without_fan_out(state: State) -> State:
    """Drop the markers of a fan-out, which BullMQ does not set."""
    rest = {
        key: {**entry, "value": {member: score for member, score in entry["value"].items() if member[:2] != "w:"}}
        for key, entry in state.items()
        if key.endswith("marker")
    }
    return {key: rest.get(key, entry) for key, entry in state.items() if key not in rest or rest[key]["value"]}


def without_traces(state: State) -> State:
    """Count stack traces: two languages have other texts for the same failure."""

    def counted(value: Any) -> Any:
        if not isinstance(value, dict) or "stacktrace" not in value:
            return value
        return {**value, "stacktrace": f"{len(json.loads(value['stacktrace']))} traces"}

    return {key: {**entry, "value": counted(entry["value"])} for key, entry in state.items()}


def without_parked(result: Any) -> Any:
    """Our counts say for each queue how many jobs a client of 5 has parked; those of 6 say it only when asked."""
    return (
        {state: count for state, count in result.items() if state != "paused"} if isinstance(result, dict) else result
    )
