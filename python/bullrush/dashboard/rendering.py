"""Answers as HTML or JSON, and the headers that every response has."""

from __future__ import annotations

import json as stdlib_json
import time
from datetime import datetime, timezone
from functools import partial
from hashlib import blake2s
from pathlib import Path
from typing import Any, Final

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bullrush.dashboard.addresses import Addresses
from bullrush.dashboard.answer import Answer
from bullrush.dashboard.drawing import WORDS, sparkline, track, tracks
from bullrush.dashboard.notices import FIELD
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.shared import POLL_EVERY
from bullrush.extending import JSON
from bullrush.inspection import span

#: Nothing from elsewhere, and nothing inline: a name or an error with HTML in it does nothing.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Without a referrer browsers send no origin, either, by which we know our own forms.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_KINDS: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_STATIC: Final = {
    file.name: file.read_bytes()
    for file in sorted((Path(__file__).parent / "static").iterdir())
    if file.suffix in _KINDS
}
#: It changes with the files, so that a browser may keep them.
VERSION: Final = blake2s(b"".join(_STATIC.values()), digest_size=6).hexdigest()
#: What stands around a page if nobody says it.
_AROUND: Final[dict[str, Any]] = {
    "viewer": None,
    "place": None,
    "name_of_all": None,
    "servers": None,
    "read_only": False,
    "notice": None,
    "live": False,
}
#: More rows than these are not kept.
_MOST_ROWS: Final = 2_000
#: Longer values are cut in HTML; JSON has all of them.
_LONGEST: Final = 20_000


class Rows:
    """The last row of each queue, and what it says. Most queues are as they were two seconds ago.

    Each dashboard has its own: another one has other masks, or another Redis, and makes another row of the same queue.
    """

    def __init__(self) -> None:
        #: By the address of the dashboard, the template and the queue.
        self._kept: dict[tuple[str, str, str], tuple[bytes, Markup]] = {}

    def of(self, addresses: Addresses, template: str, queue: str, content: Any) -> Markup:
        """Return the row of a queue."""
        place, written = (addresses.root, template, queue), _written(content)
        before, row = self._kept.get(place, (b"", Markup()))
        if before != written:
            row = Markup(_TEMPLATES.get_template(template).render(content, to=addresses.of))
            if len(self._kept) >= _MOST_ROWS:
                self._kept.clear()
            self._kept[place] = written, row
        return row


def page(request: Request, answer: Answer, rows: Rows | None = None, **context: Any) -> Response:
    """Return the response to a request.

    Args:
        request: the request; it says whether HTML or JSON is wanted.
        answer: what the page says.
        rows: the rows of this dashboard; None for a page without any.
        context: what stands around it.
    """
    if wants_json(request):
        return json(answer.content, answer.status)
    text = _rendered(request, answer, rows, "base.html", {**_AROUND, **context})
    return _with_headers(Response(text, answer.status, media_type="text/html"))


def live_part(request: Request, rows: Rows, answer: Answer) -> str:
    """Return the part of a page that is kept up to date, as HTML."""
    # Space around it would be a part of its own.
    return _rendered(request, answer, rows, "live.html", {}).strip()


def part(html: str, tag: str | None, status: int = 200) -> Response:
    """Return the live part of a page, named by its tag if it may be asked for again by that."""
    headers = {} if tag is None else {"ETag": tag}
    return _with_headers(Response(html, status, headers, media_type="text/html"))


def unchanged(tag: str) -> Response:
    """Return the answer to a page that shows this part already."""
    return _with_headers(Response(status_code=204, headers={"ETag": tag}))


def _rendered(request: Request, answer: Answer, rows: Rows | None, around: str, context: dict[str, Any]) -> str:
    addresses = Addresses(request.scope.get("root_path", ""))
    return _TEMPLATES.get_template(answer.template).render(
        answer.content,
        around=around,
        title=answer.title,
        to=addresses.of,
        to_job=addresses.of_job,
        row=None if rows is None else partial(rows.of, addresses),
        version=VERSION,
        as_json=query_of(request, format="json"),
        as_it_is=query_of(request, **answer.chosen),
        **context,
    )


def json(content: dict[str, Any], status: int = 200) -> Response:
    """Return an answer to a program."""
    return _with_headers(Response(_written(content, indented=True) + b"\n", status, media_type="application/json"))


def _written(content: Any, *, indented: bool = False) -> bytes:
    try:
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 if indented else None)
    except TypeError:  # a number that needs more than 64 bits
        return stdlib_json.dumps(content, indent=2 if indented else None).encode()


def redirect(address: str) -> Response:
    """Lead a browser to a page, which it asks for with GET."""
    return _with_headers(RedirectResponse(address, 303))


def refusal_page(refused: RefusalError) -> Answer:
    """Return a page that is one sentence."""
    return Answer("refusal.html", str(refused.status), {"error": refused.sentence}, refused.status)


def static(name: str) -> Response | None:
    """Return a file of the pages: they hold nothing of anybody. None if there is no such file."""
    if name not in _STATIC:
        return None
    response = _with_headers(Response(_STATIC[name], media_type=_KINDS[Path(name).suffix]))
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response


def wants_json(request: Request) -> bool:
    """Tell whether the answer is for a program."""
    if (asked := request.query_params.get("format")) is not None:
        return asked == "json"
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def is_polled(request: Request) -> bool:
    """Tell whether a page asks for its live part: htmx says so."""
    return request.headers.get("hx-request") == "true" and request.method.lower() == "get"


def query_of(request: Request, **more: str) -> str:
    """Return the query string of a page, without the notice that it shows once."""
    return str(request.url.remove_query_params([FIELD]).include_query_params(**more).query)


def _with_headers(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _ago(moment: int | None) -> str:
    if moment is None:
        return ""
    passed = int(time.time() * 1_000) - moment
    return f"in {span(-passed)}" if passed < 0 else f"{span(passed)} ago"


def _clock(moment: int | None) -> str:
    """Return a time in full, in UTC."""
    if moment is None:
        return ""
    try:
        at = datetime.fromtimestamp(moment / 1_000, timezone.utc).replace(tzinfo=None)
    except (OverflowError, OSError, ValueError):
        return f"{moment} ms"  # written by hand, or by a broken clock
    return at.isoformat(sep=" ", timespec="milliseconds")


def _json(value: JSON) -> str:
    return _cut(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _compact(value: JSON) -> str:
    return orjson.dumps(value).decode()


def _cut(text: str) -> str:
    """Return a text that a browser can show."""
    return (
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… ({len(text):,} characters; as JSON this page has all)"
    )


def _rate(value: float) -> str:
    """Return so many per second; of what is seldom how many per minute."""
    if 0 < value < 0.1:
        return f"{value * 60:.1f}/min"
    return f"{value:,.0f}/s" if value >= 10 or value == 0 else f"{value:.1f}/s"


def _bytes(value: int) -> str:
    return f"{value / 1_048_576:,.1f} MB" if value >= 1_048_576 else f"{value / 1_024:,.0f} kB"


def _line(text: str, most: int = 160) -> str:
    """Return the first line of a text, cut."""
    line = (text.splitlines() or [""])[0]
    return line if len(line) <= most else f"{line[:most]}…"


_TEMPLATES: Final = Environment(
    loader=PackageLoader("bullrush.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals.update(poll_every=POLL_EVERY)
_TEMPLATES.globals.update(sparkline=sparkline, tracks=tracks, lane=track, words=WORDS)
_TEMPLATES.filters.update(number=_number, rate=_rate, bytes=_bytes, ago=_ago, clock=_clock, span=span)
_TEMPLATES.filters.update(json=_json, compact=_compact, cut=_cut, line=_line)
