"""The tutorials, command for command, in the terminals that they name (issue 12, 11)."""

from __future__ import annotations

from pathlib import Path

from docs.reader import Reader


def test_the_first_subagent_goes_as_the_tutorial_shows(tmp_path: Path) -> None:
    """Issue 12, 11: step 3 broke in the second terminal that it asked for."""
    reader = Reader.below(tmp_path)
    reader.follow("docs/tutorial/first-subagent.md")
    assert list(reader.home.iterdir()) == []
