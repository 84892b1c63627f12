"""``bullrush dashboard``: pages that say what needs a human, why a job does not run, and which failures are one."""

from __future__ import annotations

import argparse
import ipaddress
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import add_connection, checked_url
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.extending import check_prefix
from bullrush.url import address

if TYPE_CHECKING:
    from bullrush.dashboard import Recording

EXAMPLES = """\
  bullrush dashboard                                   prints a link; Ctrl-C ends it
  bullrush dashboard redis://10.0.0.5:6379/0 --read-only
  bullrush dashboard --port 8123 --mask password --mask card_number
  bullrush dashboard --name production --read-only
  bullrush dashboard live=redis://10.0.0.5:6379/0 test=redis://10.0.0.6:6379/0#shop
  bullrush dashboard --history /var/lib/jobs/history.db
  bullrush dashboard --host 0.0.0.0 --password-file /run/secrets/dashboard --allow-host ops.example.org"""

#: In place of a file: nothing is recorded, and nothing is shown of a history; or no change is written down.
_NONE: Final = "none"
#: What the dashboard has for itself at the beginning of a path.
_OWN_PARTS: Final = frozenset({"login", "static"})
#: A name is a part of the path.
_NAMED: Final = re.compile(r"(?P<name>\w[\w.-]*)=(?P<url>\w[\w+.-]*://[^#]*)(?:#(?P<prefix>.+))?")
_HERE: Final = "127.0.0.1"
_MOST_PORTS: Final = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "server",
        nargs="*",
        metavar="[NAME=]URL",
        help="the URL of Redis, the same as --url; of several each has a NAME, and perhaps a prefix: NAME=URL#PREFIX",
    )
    parser.add_argument("--name", type=_name, help="what these queues are for, such as production; on every page")
    parser.add_argument(
        "--host", default=_HERE, help=f"where it listens (default: {_HERE}); another machine needs --password-file"
    )
    parser.add_argument("--port", type=_port, default=0, help="its port (default: one that is free)")
    parser.add_argument(
        "--password-file", type=Path, metavar="FILE", help="a file with the password that lets people in"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which browsers find this server; may be repeated",
    )
    parser.add_argument("--read-only", action="store_true", help="nobody changes anything")
    parser.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="FIELD",
        help="a field of the data whose values nobody sees; may be repeated",
    )
    parser.add_argument(
        "--mask-text",
        action="append",
        default=[],
        metavar="REGEX",
        help="what this matches in texts and values nobody sees; may be repeated",
    )
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="record what happens to jobs into this file, or read it if another process does; 'none' does neither "
        "(default: a file in the user's folder of state)",
    )
    parser.add_argument(
        "--audit",
        metavar="FILE",
        help="add a line to this file for each change that somebody makes; 'none' does without (default: beside the "
        "history, if there is one)",
    )
    add_connection(parser)


class _Place(NamedTuple):
    """Queues that are shown.

    Attributes:
        name: what they are for; None if nobody has said it.
        url: where their Redis is.
        prefix: the prefix of their keys.
        history: the file of their history; None: there is none.
        audit: the file of what was changed; None: there is none.
    """

    name: str | None
    url: str
    prefix: str
    history: Path | None
    audit: Path | None


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes. JSON: one line, ``{"url": link, "redis": address}``; several: addresses by name."""
    password = None if options.password_file is None else _password(options.password_file)
    if password is None and not _is_here(options.host):
        raise CommandError(f"whoever reaches {options.host} could get in: --password-file FILE gives a password", USAGE)
    try:
        from bullrush.dashboard import Gate, Recording, Site, Sites, app, listen, serve
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is not installed: pip install 'bullrush[dashboard]'", USAGE) from None
    places = _places(options)
    try:
        listening = listen(options.host, options.port)
    except OSError as error:
        raise CommandError(f"{options.host}:{options.port}: {error.strerror or error}", USAGE) from None
    with listening:
        port = listening.getsockname()[1]
        gate = Gate(port, password=password, hosts=[options.host, *options.allow_host])
        sites = [
            Site(
                place.name or "",
                address(place.url),
                place.prefix,
                app(
                    place.url,
                    authenticate=gate.authenticate,
                    # Who has got in may do everything that the dashboard may.
                    authorize=lambda *_: True,
                    prefix=place.prefix,
                    read_only=options.read_only,
                    mask=options.mask,
                    mask_text=options.mask_text,
                    history=place.history,
                    audit=place.audit,
                    name=place.name,
                    timeout=options.timeout,
                ),
            )
            for place in places
        ]
        gate.app = sites[0].app if len(sites) == 1 else Sites(sites)
        shown = f"[{options.host}]" if ":" in options.host else options.host
        link = f"http://{shown}:{port}/" + ("" if gate.token is None else f"login?token={gate.token}")
        recordings = [
            Recording(
                place.history, place.url, place.prefix, without_texts=bool(options.mask), mask_text=options.mask_text
            )
            for place in places
            if place.history is not None
        ]
        serve(gate, listening, recordings, lambda: _print(options, link, places, recordings))
    return 0


def _places(options: argparse.Namespace) -> list[_Place]:
    """Return what is to be shown, as it was given."""
    if options.server and options.url:
        raise CommandError("give the URL once, as URL or as --url", USAGE)
    if len(options.server) < 2:
        found = [_place(options, (options.server or [options.url])[0])]
        return [place._replace(name=options.name or place.name) for place in found]
    if options.name is not None:
        raise CommandError("--name is for one URL; write several as NAME=URL", USAGE)
    if options.history not in (None, _NONE):
        raise CommandError("a history has the queues of one server: leave --history out, or give none", USAGE)
    found = [_place(options, text) for text in options.server]
    names = [place.name for place in found]
    if None in names or len(set(names)) < len(names):
        raise CommandError("several URLs need a name each: NAME=URL", USAGE)
    for name in _OWN_PARTS.intersection(names):
        raise CommandError(f"{name} is one of the dashboard's own addresses: take another name", USAGE)
    return found


def _place(options: argparse.Namespace, text: str | None) -> _Place:
    from bullrush.dashboard import usual_file

    named = _NAMED.fullmatch(text or "")
    name, url, prefix = (named["name"], named["url"], named["prefix"]) if named else (None, text, None)
    found, prefix = checked_url(url), check_prefix(prefix or options.prefix)
    history = _file(options.history, usual_file(found, prefix))
    return _Place(name, found, prefix, history, _file(options.audit, history and history.with_suffix(".audit.jsonl")))


def _file(given: str | None, usual: Path | None) -> Path | None:
    return usual if given is None else None if given == _NONE else Path(given)


def _print(options: argparse.Namespace, link: str, places: list[_Place], recordings: list[Recording]) -> None:
    several = len(places) > 1
    where = {place.name: address(place.url) for place in places}
    if options.json:
        write_json({"url": link, "redis": where if several else address(places[0].url)}, line=True)
    else:
        shown = ", ".join(f"{name} ({redis})" for name, redis in where.items()) if several else address(places[0].url)
        write(f"The queues at {shown}: {link}")
        if options.password_file is None:
            say("The link works once; then the browser knows you. Ctrl-C ends the dashboard.")
        for recording in recordings:
            about = "records into it" if recording.obstacle is None else f"does not record: {recording.obstacle}"
            say(f"The history is {recording.file}; this dashboard {about}.")
    sys.stdout.flush()


def _name(text: str) -> str:
    if not re.fullmatch(r"\w[\w .-]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name: it has letters, digits, spaces and . - _")
    return text


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _MOST_PORTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _password(file: Path) -> str:
    try:
        found = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}", USAGE) from None
    if not found:
        raise CommandError(f"{file} has no password", USAGE)
    return found


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
