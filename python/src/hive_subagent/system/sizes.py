"""Sizes as people write them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*([0-9]{1,19})\s*([KMGT]?)(?:i?B)?\s*", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse_size(text: str | int) -> int:
    """Bytes of `536870912`, `512M`, `512MiB` or `2g`; units count in 1024, as systemd's do.

    Raises ValueError, in one line that names the value, for anything else and for zero.
    """
    match = None if isinstance(text, bool) else _SIZE.fullmatch(str(text))
    size = int(match[1]) * 1024 ** _POWERS[match[2].upper()] if match else 0
    if not 0 < size < 2**63:
        shown = repr(text)[:80]
        raise ValueError(f"{shown} is not a size; write bytes, or a number with K, M, G or T")
    return size
