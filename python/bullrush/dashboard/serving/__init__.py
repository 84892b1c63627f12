"""The dashboard as a program of its own: who gets in, and the server."""

from bullrush.dashboard.serving.gate import Gate
from bullrush.dashboard.serving.server import listen, serve
from bullrush.dashboard.serving.sites import Site, Sites

__all__ = ["Gate", "Site", "Sites", "listen", "serve"]
