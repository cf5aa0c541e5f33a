"""Batches of lines, as claude's output is handed on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hive_subagent.claude.stream import Batch


def batch_of(block: bytes) -> Batch:
    """Whole lines, each with its line end."""
    return Batch(block.split(b"\n")[:-1], block)


def batch_of_events(*events: Mapping[str, Any]) -> Batch:
    """Events as claude prints them, each on a line."""
    lines = [json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events]
    return batch_of("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
