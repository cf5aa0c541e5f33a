"""Text fit to be handed on: valid Unicode, of bounded size."""

from __future__ import annotations

RESULT_LIMIT = 8_000
"""Bytes of a final text that answers and notices carry."""


def is_cut(text: str, *, limit: int = RESULT_LIMIT) -> bool:
    """Whether `fit` leaves something of `text` out."""
    return len(fit(text, limit=len(text) * 4).encode()) > limit


def fit(text: str, *, limit: int = RESULT_LIMIT) -> str:
    """`text` cut to `limit` bytes of UTF-8 on a character boundary, lone surrogates replaced.

    A model can print half of a surrogate pair; JSON carries it, UTF-8 cannot.
    """
    data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    if len(data) <= limit:
        return data.decode()
    return data[:limit].decode("utf-8", "ignore")
