"""Text fit to be handed on: valid Unicode, of bounded size."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

RESULT_LIMIT = 8_000
"""Bytes of a final text that answers and notices carry."""

NEAR_LIMIT = 63
"""Characters of a name that are compared with those that are known."""

LAST_TEXT_LIMIT = 4_000
"""Bytes of the last text of a run that gave no answer."""


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


def joined(texts: Sequence[str], *, limit: int = RESULT_LIMIT) -> tuple[str | None, bool]:
    """`texts` one after the other, a blank line between two, and whether they were cut to fit.

    The small ones stay whole, so that a long one before the last does not leave out that. None
    where there are none.
    """
    if not texts:
        return None, False
    whole = "\n\n".join(texts)
    if not is_cut(whole, limit=limit):
        return fit(whole, limit=limit), False
    room = max(0, limit - 2 * (len(texts) - 1))
    granted = shares([len(fit(text, limit=4 * len(text)).encode()) for text in texts], room)
    cut = [fit(text, limit=share) for text, share in zip(texts, granted, strict=True)]
    return fit("\n\n".join(cut), limit=limit), True


def shortened(text: str, *, limit: int) -> str:
    """`text` in at most `limit` bytes, with a mark where it is cut."""
    if not is_cut(text, limit=limit):
        return fit(text, limit=limit)
    mark = "…"
    return fit(text, limit=limit - len(mark.encode())) + mark


def json_bytes(text: str) -> int:
    """The bytes that `text` takes as a value of JSON; never fewer than its characters there."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def fit_json(text: str, limit: int) -> str:
    """The longest beginning of `text` that takes at most `limit` bytes as a value of JSON."""
    return fit_by(json_bytes, text, limit)


def fit_by(size: Callable[[str], int], text: str, limit: int) -> str:
    """The longest beginning of `text` whose `size`, which grows with it, is at most `limit`."""
    if size(text) <= limit:
        return text
    ends = range(1, len(text) + 1)
    return text[: bisect_right(ends, limit, key=lambda end: size(text[:end]))]


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """How much of `room` each gets: the small ones all they want, the others alike."""
    granted = [0] * len(sizes)
    for before, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        granted[index] = min(sizes[index], max(0, room) // (len(sizes) - before))
        room -= granted[index]
    return granted


def near(given: str, known: Iterable[str]) -> str:
    """The end of a refusal where something known looks like the given name; else empty."""
    others = [name for name in known if name != given]
    found = get_close_matches(given[:NEAR_LIMIT], others, n=3)
    return f" (did you mean {' or '.join(f'`{one}`' for one in found)}?)" if found else ""
