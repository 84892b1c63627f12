"""The options of a worker that are about routes."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from bullrush.routing.profile import Profile, check_profile
from bullrush.values import checks
from bullrush.values.options import Option, declare_options


@declare_options
class Routing(TypedDict, total=False):
    """What a worker has, and how it takes jobs of routes: ``Worker(..., routing=Routing(profile=.., strict=True))``."""

    profile: Annotated[
        Profile | None,
        Option(
            check_profile,
            bullmq=None,
            doc=(
                "what this worker has; see `Profile`. It takes the jobs of the queue, and those with a ``target`` that"
                " this matches, from all routes; it finds new routes within about 2 s."
            ),
        ),
    ]
    routes_only: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True takes only jobs with a ``target``, and leaves all others to other workers. It needs a "
                "``profile``."
            ),
        ),
    ]
    claim: Annotated[
        Literal["next", "scan"],
        Option(
            checks.one_of("next", "scan"),
            default="next",
            bullmq=None,
            doc=(
                "``scan``, with a ``profile``: this worker takes a job of the queue itself only if it has no target, "
                "or one that the profile matches. This is for producers that cannot use routes and put a ``target`` "
                "into the options of a job: all workers of the queue must scan. ``next``, the default, takes whatever "
                "is next."
            ),
        ),
    ]
    scan_depth: Annotated[
        int,
        Option(
            checks.at_least(1),
            default=100,
            bullmq=None,
            doc=(
                "how many of the next jobs a scan looks at, and of the next prioritized ones; 100. Jobs behind them "
                'wait. It is for ``claim="scan"``.'
            ),
        ),
    ]
    strict: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "with a profile: True serves a route only while no better one has jobs: first those for this very "
                "server, then specific ones, then the queue itself. By default they share the turns 4 to 2 to 1."
            ),
        ),
    ]
    share_rate_limit: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True: the routes of the queue, see ``profile``, count for the rate limit of the queue itself, so that"
                " the limit is one for all of them. Otherwise each route has a rate limit of its own."
            ),
        ),
    ]
