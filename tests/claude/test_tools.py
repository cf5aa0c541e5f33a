"""The inventory of claude's tools, and what is denied to every run because of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_subagent.claude.tools import ALWAYS_DENIED, INVENTORY, Use

SAMPLES = Path(__file__).parent / "samples"


def test_what_reaches_other_sessions_or_never_happens_is_denied_to_every_run() -> None:
    """Issue 9, 3 and 4."""
    assert ALWAYS_DENIED == (
        "CronCreate",
        "CronDelete",
        "CronList",
        "ListAgents",
        "ScheduleWakeup",
        "SendMessage",
    )


@pytest.mark.parametrize("version", sorted(INVENTORY))
def test_every_tool_is_classified_with_a_reason(version: str) -> None:
    """Issue 9, 6."""
    tools = INVENTORY[version]
    assert all(tool.reason.strip() for tool in tools.values())
    assert {tool.use for tool in tools.values()} == set(Use)


@pytest.mark.parametrize("version", sorted(INVENTORY))
def test_every_tool_of_every_recorded_stream_is_classified(version: str) -> None:
    """Issue 9, 6."""
    listed: set[str] = set()
    for sample in (SAMPLES / version).glob("*.jsonl"):
        for line in sample.read_bytes().split(b"\n"):
            if b'"subtype":"init"' in line:
                listed.update(json.loads(line)["tools"])
    built_in = {tool for tool in listed if not tool.startswith("mcp__")}
    assert len(built_in) > 20
    assert {"Agent" if tool == "Task" else tool for tool in built_in} <= set(INVENTORY[version])
