"""The how-to pages, command for command (issue 12, 11)."""

from __future__ import annotations

from pathlib import Path

from docs.pages import ROOT
from docs.reader import Reader


def test_the_ways_to_be_told_work_as_shown(tmp_path: Path) -> None:
    """Issue 12, 11: "you will be told" came true in no set-up that the pages built."""
    reader = Reader.below(tmp_path)
    reader.follow("docs/how-to/be-told.md")
    assert [left.name for left in reader.home.iterdir()] == []


def test_the_skill_is_installed_where_claude_looks(tmp_path: Path) -> None:
    reader = Reader.below(tmp_path)
    reader.follow("docs/how-to/install-skills.md")
    installed = reader.home / ".claude" / "skills" / "claude-subagents" / "SKILL.md"
    assert installed.read_text() == (ROOT / "docs/skills/claude-subagents/SKILL.md").read_text()
