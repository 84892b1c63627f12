"""``bullrush dashboard``: pages that say what needs a human, why a job does not run, and which failures are one."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from pathlib import Path
from typing import Final

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import add_connection, url_of
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.extending import check_prefix
from bullrush.url import address

EXAMPLES = """\
  bullrush dashboard                                   prints a link; Ctrl-C ends it
  bullrush dashboard redis://10.0.0.5:6379/0 --read-only
  bullrush dashboard --port 8123 --mask password --mask card_number
  bullrush dashboard --host 0.0.0.0 --password-file /run/secrets/dashboard --allow-host ops.example.org"""

_HERE: Final = "127.0.0.1"
_MOST_PORTS: Final = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("server", nargs="?", metavar="URL", help="the URL of Redis; the same as --url")
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
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes. JSON: one line, ``{"url": link, "redis": address}``."""
    if options.server and options.url:
        raise CommandError("give the URL once, as URL or as --url", USAGE)
    options.url = options.server or options.url
    password = None if options.password_file is None else _password(options.password_file)
    if password is None and not _is_here(options.host):
        raise CommandError(f"whoever reaches {options.host} could get in: --password-file FILE gives a password", USAGE)
    try:
        from bullrush.dashboard import Gate, app, listen, serve
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is not installed: pip install 'bullrush[dashboard]'", USAGE) from None
    try:
        listening = listen(options.host, options.port)
    except OSError as error:
        raise CommandError(f"{options.host}:{options.port}: {error.strerror or error}", USAGE) from None
    with listening:
        port = listening.getsockname()[1]
        gate = Gate(port, password=password, hosts=[options.host, *options.allow_host])
        gate.app = app(
            url_of(options),
            authenticate=gate.authenticate,
            # Who has got in may do everything that the dashboard may.
            authorize=lambda *_: True,
            prefix=check_prefix(options.prefix),
            read_only=options.read_only,
            mask=options.mask,
            mask_text=options.mask_text,
            timeout=options.timeout,
        )
        shown = f"[{options.host}]" if ":" in options.host else options.host
        link = f"http://{shown}:{port}/" + ("" if gate.token is None else f"login?token={gate.token}")
        serve(gate, listening, lambda: _print(options, link))
    return 0


def _print(options: argparse.Namespace, link: str) -> None:
    redis = address(url_of(options))
    if options.json:
        write_json({"url": link, "redis": redis}, line=True)
    else:
        write(f"The queues at {redis}: {link}")
        if options.password_file is None:
            say("The link works once; then the browser knows you. Ctrl-C ends the dashboard.")
    sys.stdout.flush()


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
