"""How claude is called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_subagent.claude.invocation import build_argv, child_environment
from hive_subagent.claude.tools import ALWAYS_DENIED
from hive_subagent.permissions import PermissionMode

CONFIG = Path("/home/agent/.claude")
NO_PROXY = ("NO_PROXY", "no_proxy")


@given(value=st.text(min_size=1).filter(lambda s: "\0" not in s))
def test_a_value_never_becomes_a_flag(value: str) -> None:
    """R30."""
    plain = build_argv("claude", resume="x", model="m", allowed_tools=["t"])
    argv = build_argv("claude", resume=value, model=value, allowed_tools=[value])
    assert len(argv) == len(plain)
    assert f"--resume={value}" in argv
    assert f"--model={value}" in argv
    assert f"--allowedTools={value}" in argv


def test_a_new_session_has_our_id_and_name_and_a_resumed_one_only_its_id() -> None:
    new = build_argv("claude", session_id="u", name="lint")
    assert "--session-id=u" in new
    assert "--name=lint" in new
    resumed = build_argv("claude", session_id="u", name="lint", resume="u")
    assert "--resume=u" in resumed
    assert not any(a.startswith(("--session-id", "--name")) for a in resumed)


def test_the_settings_keep_transcripts_from_the_clean_up_of_thirty_days() -> None:
    """R23."""
    argv = build_argv("claude", resume="u")
    (settings,) = [a.removeprefix("--settings=") for a in argv if a.startswith("--settings=")]
    assert json.loads(settings)["cleanupPeriodDays"] > 365


def test_the_settings_refuse_messages_of_other_sessions() -> None:
    """Issue 9, 4."""
    argv = build_argv("claude", resume="u")
    (settings,) = [a.removeprefix("--settings=") for a in argv if a.startswith("--settings=")]
    assert json.loads(settings)["crossSessionInbound"] == "refuse"


def test_no_server_of_anybody_is_seen_unless_a_file_says_so() -> None:
    argv = build_argv("claude", resume="u")
    assert "--strict-mcp-config" in argv
    assert not any(a.startswith(("--mcp-config", "--allowedTools")) for a in argv)


def test_the_bypass_is_only_passed_where_it_is_meant() -> None:
    assert "--dangerously-skip-permissions" in build_argv("claude", resume="u")


@pytest.mark.parametrize("mode", ["plan", "default", "acceptEdits", "dontAsk", "auto"])
def test_below_bypass_a_projects_settings_cannot_raise_the_mode(mode: PermissionMode) -> None:
    argv = build_argv("claude", resume="u", permission_mode=mode, setting_sources="user,project")
    assert "--dangerously-skip-permissions" not in argv
    assert f"--permission-mode={mode}" in argv
    assert "--setting-sources=" in argv


def test_a_child_sees_only_what_is_allowed() -> None:
    """R18."""
    parent = {
        "PATH": "/somewhere",
        "LC_ALL": "C",
        "https_proxy": "p",
        "AWS_REGION": "r",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "parent",
        "ANTHROPIC_MODEL": "m",
        "HIVE_SUBAGENT_AUTH_TOKEN_FILE": "f",
        "SECRET": "s",
        "MY_ONE": "1",
        "MY_TWO": "2",
        "CLAUDE_CONFIG_DIR": "/elsewhere",
    }
    child = child_environment(parent, config_dir=CONFIG, further=["MY_*"])
    assert child == {
        "PATH": "/somewhere",
        "LC_ALL": "C",
        "https_proxy": "p",
        "AWS_REGION": "r",
        "MY_ONE": "1",
        "MY_TWO": "2",
        "CLAUDE_CONFIG_DIR": str(CONFIG),
    }


NAMES = st.text(min_size=1, max_size=12) | st.sampled_from(["NO_PROXY", "no_proxy", "PATH"])


@example({"NO_PROXY": "0"})
@given(parent=st.dictionaries(NAMES, st.text(max_size=5), max_size=20))
def test_a_child_never_sees_more_than_its_parent_and_its_own_folder(parent: dict[str, str]) -> None:
    child = child_environment(parent, config_dir=CONFIG)
    assert child.pop("CLAUDE_CONFIG_DIR") == str(CONFIG)
    # these two are made the same: each holds what the parent excludes from its proxy by either
    excluded = [child.pop(name) for name in NO_PROXY if name in child]
    assert child.items() <= parent.items()
    assert entries(excluded) <= entries(parent.get(name, "") for name in NO_PROXY)


def entries(values: Iterable[str]) -> set[str]:
    return {entry for value in values for entry in re.split(r"[\s,]+", value) if entry}


def test_tools_are_named_taken_away_and_approved() -> None:
    argv = build_argv(
        "claude",
        resume="u",
        tools=["Grep", "Read"],
        disallowed_tools=["Agent", "Bash(git *)"],
        allowed_tools=["WebFetch"],
        add_dirs=["/srv/a", "/srv/b,c"],
        effort="low",
    )
    assert "--tools=Grep,Read" in argv
    assert f"--disallowedTools=Agent,Bash(git *),{','.join(ALWAYS_DENIED)}" in argv
    assert "--allowedTools=WebFetch" in argv
    assert [a for a in argv if a.startswith("--add-dir")] == [
        "--add-dir=/srv/a",
        "--add-dir=/srv/b,c",
    ]
    assert "--effort=low" in argv


def test_what_no_run_has_is_denied_once_whatever_else_is() -> None:
    """Issue 9, 3 and 4."""
    assert f"--disallowedTools={','.join(ALWAYS_DENIED)}" in build_argv("claude", resume="u")
    argv = build_argv("claude", resume="u", disallowed_tools=["SendMessage"])
    (denied,) = [a for a in argv if a.startswith("--disallowedTools=")]
    assert sorted(denied.removeprefix("--disallowedTools=").split(",")) == list(ALWAYS_DENIED)


def test_a_session_can_be_left_without_any_tool() -> None:
    assert "--tools=" in build_argv("claude", resume="u", tools=[])
    assert not any(a.startswith("--tools") for a in build_argv("claude", resume="u"))
