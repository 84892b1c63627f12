"""Handlers in processes of their own, for ``isolation="process"``."""
