"""Runs of a worker: the runners of handlers, their supervisor, and signals."""
