"""The dashboard as a program of its own: who gets in, and the server."""

from bullrush.dashboard.serving.gate import Gate
from bullrush.dashboard.serving.server import listen, serve

__all__ = ["Gate", "listen", "serve"]
