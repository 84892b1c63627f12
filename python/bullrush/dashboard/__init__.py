"""The dashboard: pages that say what needs a human, why a job does not run, and which failures are one failure.

``bullrush dashboard`` serves it on this machine; `app` is mounted in a program of yours.
"""

from bullrush.dashboard.application import app
from bullrush.dashboard.history import Recording, usual_file
from bullrush.dashboard.rights import Action, Authenticate, Authorize
from bullrush.dashboard.serving import Gate, Site, Sites, listen, serve

__all__ = [
    "Action",
    "Authenticate",
    "Authorize",
    "Gate",
    "Recording",
    "Site",
    "Sites",
    "app",
    "listen",
    "serve",
    "usual_file",
]
