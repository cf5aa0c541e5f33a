"""Names for type checkers only: the stub starts ten thousand times, so `typing` stays unloaded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]
    Step = dict[str, Any]
