"""A process is told by its command, not by how claude starts it (issue 9, 34)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.commands import COMMAND_LIMIT, command_of
from hive_subagent.claude.invocation import build_argv

SNAPSHOT = (
    # not run here
    "/bin/bash -c source /c/shell-snapshots/snapshot-bash-1796095076882-d96zv5.sh 2>/dev/null"
)
EVAL = "eval COMMAND < /dev/null && pwd -P >| /tmp/claude-7e15-cwd"
NEW = (
    f"{SNAPSHOT} || true && \\builtin shopt -u extglob 2>/dev/null || true"
    " && { \\builtin unalias -- 'which'; \\builtin unset -f -- 'which'; } >/dev/null 2>&1 || true"
    f" && {EVAL}"
)
OLD = f"{SNAPSHOT} || true && shopt -u extglob 2>/dev/null || true && {EVAL}"


def quoted(command: str) -> str:
    """As claude quotes it for its shell (measured)."""
    return "'" + command.replace("'", "'\"'\"'") + "'"


@pytest.mark.parametrize("wrapper", [NEW, OLD])
@given(st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=150))
def test_a_tool_is_told_by_the_command_that_was_asked_for(wrapper: str, command: str) -> None:
    assert command_of(wrapper.replace("COMMAND", quoted(command))) == command


@pytest.mark.parametrize("wrapper", [NEW, OLD])
@given(st.integers(0, 600))
def test_a_line_that_was_cut_shows_as_much_as_there_is(wrapper: str, at: int) -> None:
    command = "perl -e 'sleep 1' && " * 20
    cut = wrapper.replace("COMMAND", quoted(command))[:at]
    shown = command_of(cut)
    assert len(shown) <= COMMAND_LIMIT
    assert command.startswith(shown) or shown == cut[:COMMAND_LIMIT]


def test_claude_itself_is_told_by_its_program() -> None:
    argv = build_argv("/opt/claude/bin/claude", session_id="x", name="lint")
    assert command_of(" ".join(argv)) == "claude"


@pytest.mark.parametrize("line", ["make lint", "bash -c make", "python -m http.server 80", "[cat]"])
def test_any_other_process_is_told_by_its_own_line(line: str) -> None:
    assert command_of(line) == line
