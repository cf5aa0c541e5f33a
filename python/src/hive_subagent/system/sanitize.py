"""Text of others made fit to be shown: nothing in it acts on a terminal or forges a line."""

from __future__ import annotations

import re

# line ends and tabs stay, NEL among them; a carriage return alone would write over its line
_ACTING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\r(?!\n)")

# all of ASCII that prints is left out: it is looked at in one go
_DOUBTFUL = re.compile(r"[^ -~]+")


def on_one_line(text: str) -> str:
    """`text` with each character that does not print, line ends too, as its escape."""
    if text.isprintable():
        return text
    return _DOUBTFUL.sub(_printable, text)


def _printable(found: re.Match[str]) -> str:
    run = found[0]
    if run.isprintable():
        return run
    return "".join(c if c.isprintable() else _escape(c) for c in run)


EXCERPT = 200
"""Characters of a caller's text that a refusal repeats."""


def excerpt(text: str) -> str:
    """The first `EXCERPT` characters of `text` on one line, with a mark where more follows."""
    return on_one_line(text[:EXCERPT]) + "…" * (len(text) > EXCERPT)


def on_lines(text: str) -> str:
    """`text` with its control characters as escapes; line ends and tabs stay."""
    return _ACTING.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
