"""Arguments that do not fit: one line that names the parameter, and nothing happens."""

from __future__ import annotations

from typing import Any

import pytest
from support.daemon import Daemon
from support.stub import HANG, script

MISFITS: dict[str, tuple[str, dict[str, Any], str]] = {
    "missing": ("continue", {"name": "a"}, "parameter prompt is missing: `continue` needs it"),
    "null": ("status", {"name": ["a"]}, "name ['a'] is not usable: Input should be a valid string"),
    "a part": (
        "start",
        {"name": "a", "prompt_file": "b", "max_turns": 1.5},
        "max_turns 1.5 is not usable: Input should be a valid integer",
    ),
    "another word": (
        "wait",
        {"until": "both"},
        "until 'both' is not usable: Input should be 'all' or 'any'",
    ),
    "inside": ("wait", {"names": ["a", 5]}, "names.1 5 is not usable"),
    "of a task": (
        "delegate",
        {"tasks": [{"task": "x", "role": "scout", "rôle\n": "y"}]},
        "parameter tasks.0.rôle\\n is unknown to `delegate`: leave it out",
    ),
    "long": ("status", {"name": [["x\n"] * 5000]}, "name [['x\\n', 'x\\n'"),
}


@pytest.mark.parametrize("what", MISFITS)
async def test_what_does_not_fit_is_refused_in_a_line(daemon: Daemon, what: str) -> None:
    tool, given, start = MISFITS[what]
    said = await daemon.refused(tool, **given)
    assert said.startswith(start)
    assert said.isprintable()
    assert len(said) < 400


async def test_a_parameter_that_a_tool_does_not_have_is_refused(daemon: Daemon) -> None:
    """It was passed over: a misspelt `force` asked gently, a misspelt `names` waited for all."""
    name = await daemon.begin(script(HANG))
    said = await daemon.refused("wait", name=name)
    assert said == "parameter name is unknown to `wait`: it takes names, until, timeout_s"
    said = await daemon.refused("interrupt", name=name, forced=True)
    assert said == "parameter forced is unknown to `interrupt`: it takes name, force"
    assert (await daemon.must("status", name=name))["state"] == "running"
    await daemon.must("interrupt", name=name, force=True)
