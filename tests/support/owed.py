"""What the files of `state_dir/owed/` say, read without the daemon's own code."""

from __future__ import annotations

import json
from typing import Any


def last_entry(content: bytes) -> dict[str, Any]:
    """The last whole line of one; behind it lies the room that is reserved."""
    for line in reversed(content.rstrip(b"\0").splitlines()):
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        return entry
    raise ValueError("no line is whole")
