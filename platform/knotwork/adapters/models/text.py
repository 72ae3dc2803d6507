"""Making text fit for a model."""

from __future__ import annotations


def readable(text: str, *, max_chars: int | None = None) -> str:
    """Cut a text to `max_chars` characters, if given; lone surrogates, which no UTF-8 can carry, become U+FFFD."""
    return text[:max_chars].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
