"""What claude says while the API refuses it and it tries again by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hive_subagent.models.session import ApiRetry
from hive_subagent.system.sanitize import on_one_line

WORD_LIMIT = 200
"""Characters of a name or an error that are passed on."""


def retry_of(event: Mapping[str, Any], *, age_s: float) -> ApiRetry:
    """What an `api_retry` event says that is `age_s` old."""
    delay, status = number(event.get("retry_delay_ms")), event.get("error_status")
    left = 0.0 if delay is None else delay / 1000 - age_s
    return ApiRetry(
        attempt=_whole(event.get("attempt")),
        max_retries=_whole(event.get("max_retries")),
        next_try_s=round(max(0.0, left), 3),
        status=status if isinstance(status, int) else None,
        error=on_one_line(str(event.get("error") or "unknown"))[:WORD_LIMIT],
    )


def number(value: object) -> float | None:
    """A number that can be counted with; JSON allows others, such as 1e999."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
