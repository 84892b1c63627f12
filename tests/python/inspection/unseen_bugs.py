"""Bugs that nobody looked at while the grouping was written."""

import ipaddress
import json
import sqlite3
import ssl
import struct
import subprocess
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import wraps
from urllib.request import urlopen

_WHO = ["Ada", "grandmother", "nobody", "Wei", "the-whole-team", "Zoë", "customer#7"]
_DID = ["returned", "hates", "never ordered", "praised", "lost", "is still waiting for"]
_WHAT = ["blue shoes", "kettle", "3 x 'Gift Card'", "<b>sofa</b>", "everything", "that lamp (2nd try)"]
_WHEN = ["yesterday!", "since 2019", "", "on Monday :(", "twice", "before breakfast, really", "today"]


def _words(n: int) -> str:
    return f"{_WHO[n % 7]} {_DID[n % 6]} {_WHAT[(n + n // 6) % 6]} {_WHEN[n % 7]}".strip()


class GatewayError(Exception):
    """What a library for a web service raises."""


class TransferError(Exception):
    """A transaction that was rolled back."""


class SignupErrors(ValueError):
    """Errors of a form, one a line."""

    def __init__(self, problems: dict[str, str]) -> None:
        lines = [f"{field}\n  {problem}" for field, problem in problems.items()]
        super().__init__(f"{len(problems)} validation error(s) for Signup\n" + "\n".join(lines))
        self.problems = problems


class _InventoryApi:
    def __init__(self, host: str) -> None:
        self.host = host

    def fetch(self, sku: str) -> dict:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata="not a certificate")
        except ssl.SSLError as error:
            now = datetime.now(timezone.utc).isoformat()
            raise GatewayError(f"https://{self.host}/v1/stock/{sku} failed at {now} ({uuid.uuid4()})") from error
        return {}


class _WarehouseApi:
    def __init__(self, host: str) -> None:
        self.host = host

    def fetch(self, sku: str) -> dict:
        now = datetime.now(timezone.utc).isoformat()
        raise GatewayError(f"https://{self.host}/v1/stock/{sku} failed at {now} ({uuid.uuid4()})")


class _Comments:
    def check(self, text: str) -> str:
        if len(text) > 3:
            raise ValueError(text)
        return text


class _Reviews:
    stars = 5

    def check(self, text: str) -> str:
        if self.stars > 3:
            raise ValueError(text)
        return text


@dataclass(frozen=True)
class _Member:
    email: str
    orders: int

    @property
    def points(self) -> int:
        setattr(self, f"_points_{2000 + self.orders}", self.orders * 10)
        return self.orders * 10


@dataclass
class _Slot:
    day: date
    place: str

    @classmethod
    def from_row(cls, row: dict) -> "_Slot":
        return cls(day=date.fromisoformat(row["day"]), place=row["place"])


def _requires(role: str) -> Callable:
    def decorate(func: Callable) -> Callable:
        @wraps(func)
        def checked(n: int) -> object:
            user = {"email": f"user.{n}@example.org", "roles": ["viewer", "billing", "guest"][: n % 4]}
            if role not in user["roles"]:
                raise PermissionError(f"{user['email']} has {user['roles']}, but {func.__name__} needs {role!r}")
            return func(n)

        return checked

    return decorate


@contextmanager
def _transaction(number: int) -> Iterator[list]:
    statements: list[str] = []
    try:
        yield statements
    except ArithmeticError as error:
        raise TransferError(f"tx 0x{number * 7919:08x} rolled back, {len(statements)} done: {statements}") from error


def _owner(folder: dict, path: str) -> str:
    for name, inner in folder.items():
        return _owner(inner, f"{path}/{name}")
    raise LookupError(f"nobody owns {path}")


def _readings(lines: list[str]) -> Iterator[int]:
    for line in lines:
        yield int(line.rpartition("=")[2], 16)


def client_of_request(n: int):
    headers = {"X-Forwarded-For": f"10.{n}.0.{256 + n}, 192.0.2.{n}"}
    first = headers["X-Forwarded-For"].split(",")[0]
    return ipaddress.ip_address(first).is_private


def block_visitor(n: int):
    blocked = set()
    for host in ("192.0.2.1", f"shop-{n}.example.com"):
        blocked.add(ipaddress.ip_address(host))
    return blocked


def inventory_sync(n: int):
    return _InventoryApi(f"eu-{n}.example.net:8443").fetch(f"SKU-{n * 31:05d}")


def warehouse_sync(n: int):
    return _WarehouseApi(f"eu-{n}.example.net:8443").fetch(f"SKU-{n * 31:05d}")


def folder_owner(n: int):
    tree: dict = {}
    for depth in range(n + 1):
        tree = {f"level{depth}": tree}
    return _owner(tree, f"/srv/share-{n}")


def loyalty_points(n: int):
    return _Member(f"member+{n}@example.org", n).points


@_requires("admin")
def delete_account(n: int):
    return n


def transfer(n: int):
    amount = Decimal(n + 1) / 4
    with _transaction(n) as statements:
        for account in range(n % 3):
            statements.append(f"UPDATE account SET sum = {amount} WHERE id = {account + n}")
        statements.append(f"rate {amount / Decimal(0)}")


def archive_orders(n: int):
    with closing(sqlite3.connect(":memory:")) as db:
        return db.execute(f"DELETE FROM orders_{2000 + n} WHERE paid = ?", (True,)).rowcount


def count_visits(n: int):
    with closing(sqlite3.connect(":memory:")) as db:

        def count(table: str) -> int:
            return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

        return {table: count(table) for table in (f"visits_{2000 + n}", "visits")}


def thumbnail(n: int):
    image = f"/var/uploads/{uuid.uuid4()}/photo {n}.jpeg"
    command = ["sh", "-c", 'echo "bad image $2" >&2; exit "$1"', "convert", str(n % 5 + 1), image, f"{n + 64}x{n + 64}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def unpack_frames(n: int):
    def unpack(frame: bytes) -> tuple:
        return struct.unpack(f"<{n + 2}I", frame)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(unpack, [bytes(4 * (n + 2)), bytes(n + 1)]))


def decode_letter(n: int):
    letter = b"Dear customer " * (n % 4) + b"x" * n + bytes([[0xC3, 0xE4, 0xE9, 0xF1, 0xDF][n % 5]]) + b" regards"
    return letter.decode("utf-8").upper()


def largest_logo(n: int):
    logos = [f"cdn{n}://static.example.com/{n}/logo.svg", f"cdn{n}://static.example.com/{n}/logo@2x.png"]
    return max(logos, key=lambda logo: urlopen(logo).length)


def schedule_import(n: int):
    start = date(2026, 1, 1)
    days = [start.isoformat(), (start + timedelta(days=n)).strftime("%d.%m.%Y")]
    return [_Slot.from_row({"day": day, "place": f"room {n}"}) for day in days]


def moderate_comment(n: int):
    return _Comments().check(_words(n))


def moderate_review(n: int):
    return _Reviews().check(_words(n))


def validate_signup(n: int):
    form = {"email": f"user{n}(at)example.org", "age": f"{n - 100} years", "phone": "+49 " + "7" * (n % 9)}
    rules = {
        "email": lambda value: f"value is not an e-mail address: {value!r}",
        "age": lambda value: f"input should be a whole number (got {value!r}, type=str)",
        "phone": lambda value: f"string of {len(value)} characters is too short",
    }
    problems = {field: rules[field](form[field]) for field in list(form)[: n % 3 + 1]}
    if problems:
        raise SignupErrors(problems)
    return form


def read_sensor_log(n: int):
    lines = [f"t{i}=0x{i:04x}" for i in range(n)] + [f"t{n}=0x{n:02x}{'gz-?'[n % 4]}", "end=0"]
    return sum(reading for reading in _readings(lines) if reading > 3)


def publish_event(n: int):
    event = {"id": str(uuid.uuid4()), "tags": {f"tag-{n}", f"batch-{n // 10}"}, "items": [{"sku": n, "price": 9.5 + n}]}

    def encode(value: object) -> object:
        raise TypeError(f"cannot encode {type(value).__name__} {value!r} of {event}")

    return json.dumps(event, default=encode)


BUGS = {
    name: found
    for name, found in list(globals().items())
    if callable(found) and getattr(found, "__module__", "") == __name__ and name[0].islower()
}
