"""Codecs: how the arguments and the result of a task become JSON, and JSON becomes them."""

from bullrush.tasks.codecs.codec import AsJson, Codec, Coder, MisfitError

#: The default: plain JSON types are only checked; others go through pydantic where it is installed.
JSON: Codec = AsJson()

__all__ = ["JSON", "Codec", "Coder", "MisfitError"]
