"""The options that several kinds of objects have in common."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from bullrush.telemetry.protocol import Telemetry, check_telemetry
from bullrush.url import check_url
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.naming import check_prefix
from bullrush.values.options import Option, declare_options


@declare_options
class ServerOptions(TypedDict, total=False):
    """Where the keys are."""

    url: Annotated[
        str | None,
        Option(
            check_url,
            shown="the environment",
            bullmq="connection",
            doc=(
                "the URL of Redis: ``redis://``, ``rediss://``, ``redis+sentinel://``, ``redis+cluster://``, "
                "``unix://`` or ``embedded://[dir]``. By default the environment variable ``BULLRUSH_URL``, then "
                "``REDIS_URL``, then ``redis://127.0.0.1:6379/0``; the environment is read at the first call."
            ),
        ),
    ]
    prefix: Annotated[
        str,
        Option(
            lambda _, prefix: check_prefix(prefix),
            default="bull",
            doc=(
                "the prefix of all keys; ``bull`` by default, as in BullMQ. On Redis Cluster it needs a hash tag: "
                "``{bull}``."
            ),
        ),
    ]


@declare_options
class HandleOptions(ServerOptions, total=False):
    """Options of what has a queue."""

    allow_legacy: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True uses a queue of Bull, BullMQ's predecessor, or one that has moved, instead of raising "
                "`LegacyQueueError`; its jobs may be lost."
            ),
        ),
    ]


@declare_options
class TracedOptions(TypedDict, total=False):
    """Options of what opens spans."""

    telemetry: Annotated[
        Telemetry | None,
        Option(check_telemetry, doc="a tracer such as `bullrush.otel.OpenTelemetry`, or None."),
    ]


@declare_options
class CallOptions(TracedOptions, total=False):
    """Options of what makes calls of a length that is not known before."""

    timeout: Annotated[
        Duration | None,
        Option(
            checks.milliseconds,
            default=10_000,
            none=True,
            bullmq=None,
            doc=(
                "ms that a round trip may take, connecting included; 10,000 by default. None is no limit. A call such "
                "as `clean` makes several round trips."
            ),
        ),
    ]


@declare_options
class AddingOptions(CallOptions, total=False):
    """Options of what adds jobs."""

    fan_out: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True wakes one idle worker per job when a call makes several jobs ready, all at once and not one "
                "after another; see the page about wake hints. For fleets that are idle most of the time."
            ),
        ),
    ]
    durable: Annotated[
        bool | Literal["replica", "aof"],
        Option(
            checks.durable,
            default=None,
            shown="`False`",
            bullmq=None,
            doc=(
                "True: a call that adds jobs returns when they are in a replica, or in the append-only file on the "
                'disk if the server has no replica; `NotDurableError` if not. ``"replica"`` and ``"aof"`` ask for one '
                "of them. See the page about production."
            ),
        ),
    ]
    payload_limit: Annotated[
        int | None,
        Option(
            checks.at_least(1),
            default=checks.PAYLOAD_LIMIT,
            none=True,
            unit="bytes",
            bullmq=None,
            doc=(
                "the most bytes that the data of a job may have as JSON, for jobs without a ``size_limit`` of their "
                "own, and its progress and each row of its log; 10,000,000. More is a `TooLargeError`, with nothing "
                "written. None is no limit."
            ),
        ),
    ]
