"""docs/reference/settings.md says what the settings are, key for key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic_core import PydanticUndefined

from hive_subagent.claude.invocation import _BASE_ENVIRONMENT
from hive_subagent.settings import Settings

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "settings.md").read_text()
TABLE = PAGE.partition("| key | default | meaning |")[2].partition("\n\n")[0]
ROWS = {
    key: (default.strip(), meaning.strip())
    for key, default, meaning in re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.+) \|$", TABLE, re.MULTILINE
    )
}
# defaults that are worked out when the daemon starts; tests/test_settings.py holds how
WORKED_OUT = {
    "claude_config_dir": ["$CLAUDE_CONFIG_DIR", "~/.claude"],
    "work_dir": ["working directory"],
    "state_dir": ["$STATE_DIRECTORY", "$XDG_STATE_HOME/hive-subagent", "~/.local/state"],
    "runtime_dir": ["$RUNTIME_DIRECTORY", "$XDG_RUNTIME_DIR/hive-subagent", "<state_dir>/runtime"],
    "todo_sinks": ['["dir:<state_dir>/todos"]'],
}


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_key_stands_on_the_page_with_its_default(key: str) -> None:
    assert key in ROWS, f"{key} has no row in docs/reference/settings.md"
    shown, meaning = ROWS[key]
    assert meaning
    if key in WORKED_OUT:
        assert all(part in shown for part in WORKED_OUT[key])
        return
    default = Settings.model_fields[key].default
    assert default is not PydanticUndefined, f"say in WORKED_OUT how {key} comes about"
    assert shown == ("none" if default is None else f"`{json.dumps(default)}`")


def test_the_page_has_no_key_that_is_none() -> None:
    assert set(ROWS) == set(Settings.model_fields)
    assert set(WORKED_OUT) <= set(ROWS)


def test_the_page_lists_what_a_subagent_inherits() -> None:
    section = PAGE.partition("## What a subagent inherits")[2].partition("and those that")[0]
    assert set(re.findall(r"`([A-Za-z_*]+)`", section)) == _BASE_ENVIRONMENT
