"""Ready-made classifiers for the option ``classify`` of a worker, or of a task."""

from __future__ import annotations

import socket
from typing import Any, Final

from bullrush.retries import FAIL, RETRY, Retry, Verdict

#: Errors of libraries for HTTP and databases that mean: no answer this time. By name, so that none of them is imported.
_NO_ANSWER: Final = frozenset({
    "ClientConnectionError",  # aiohttp
    "ConnectionError",  # requests, redis, kombu
    "ConnectTimeoutError",  # urllib3, botocore
    "EndpointConnectionError",  # botocore
    "ProtocolError",  # urllib3
    "ReadTimeoutError",  # urllib3, botocore
    "SMTPServerDisconnected",  # smtplib
    "Timeout",  # requests
    "TransportError",  # httpx
})  # fmt: skip
#: Answers that another time may be different: time-out, too early, too many requests, and errors of the server.
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_FIRST_ERROR: Final = 400
#: SMTP: a mail server says 4yz for now and 5yz for good.
_FIRST_FINAL_OF_MAIL: Final = 500
_MOST_SECONDS: Final = 86_400


def network(error: BaseException) -> Verdict | None:
    """Retry what a network or a busy server may answer another time; fail what a server refused for good.

    Connections that fail, time-outs, and the answers 408, 425, 429, 500, 502, 503 and 504 of an HTTP server are
    retried: after the seconds of its ``Retry-After``, or after the job's backoff. Its other answers from 400 on fail
    the job. Of a mail server, answers from 400 to 499 are retried, and those from 500 on fail the job. The errors of
    Python with its smtplib, requests, httpx, aiohttp, aiosmtplib, urllib3 and botocore are known.

    Args:
        error: the exception of a handler.

    Returns:
        None for all other exceptions.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if "SMTPException" in names and (codes := _codes_of_mail(error)):
        return FAIL if min(codes) >= _FIRST_FINAL_OF_MAIL else RETRY
    response = getattr(error, "response", None)
    for holder in (response, error):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and status >= _FIRST_ERROR:
                return _of_status(status, getattr(holder, "headers", None))
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
        return RETRY
    return RETRY if names & _NO_ANSWER else None


def _codes_of_mail(error: BaseException) -> list[int]:
    """Return what a mail server answered: for the mail, or for each address; of smtplib or aiosmtplib."""
    recipients = getattr(error, "recipients", None)
    each = [code for code, _ in recipients.values()] if isinstance(recipients, dict) else recipients or [error]
    codes = [one if isinstance(one, int) else getattr(one, "smtp_code", getattr(one, "code", None)) for one in each]
    return [code for code in codes if isinstance(code, int) and code >= _FIRST_ERROR]


def _of_status(status: int, headers: Any) -> Verdict:
    if status not in _RETRIED:
        return FAIL
    after = headers.get("Retry-After") if hasattr(headers, "get") else None
    if isinstance(after, str) and after.isascii() and after.isdigit() and int(after) <= _MOST_SECONDS:
        return Retry(delay=int(after) * 1_000)
    return RETRY
