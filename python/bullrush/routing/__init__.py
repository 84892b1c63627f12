"""Routing: what a job needs, and what a worker has."""

from bullrush._core import route_base
from bullrush.routing.options import Routing
from bullrush.routing.profile import Profile, check_profile
from bullrush.routing.target import Target, check_target

__all__ = ["Profile", "Routing", "Target", "check_profile", "check_target", "route_base"]
