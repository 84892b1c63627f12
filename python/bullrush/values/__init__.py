"""Checks of what users give, names and keys, JSON."""
