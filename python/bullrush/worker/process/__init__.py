"""Handlers in processes of their own: the runner, and the child that it starts."""
