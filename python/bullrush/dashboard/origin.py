"""Whether a change was asked for by a page of ours."""

from __future__ import annotations

from starlette.requests import Request

from bullrush.dashboard.refusal import RefusalError


def demand_same_origin(request: Request, origin: str | None) -> None:
    """Refuse a change that another site has asked the browser for.

    Browsers send ``Sec-Fetch-Site`` to HTTPS and to this machine. Over plain HTTP they send ``Origin`` alone.

    Args:
        request: the request.
        origin: our own origin; by default that of the request, which a proxy may have changed.

    Raises:
        RefusalError: it was asked for elsewhere.
    """
    site = request.headers.get("sec-fetch-site")
    own = origin or f"{request.url.scheme}://{request.headers.get('host', '')}"
    asked = site == "same-origin" if site is not None else request.headers.get("origin") == own
    if not asked:
        raise RefusalError(403, "A change must be asked for by a page of this dashboard: open the page, and try there.")
