"""Streams: what a query has read is in its offsets."""
