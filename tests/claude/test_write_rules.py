"""Claude's settings that keep a session from writing files (issue 10, 13)."""

import json
from pathlib import Path

import pytest

from hive_subagent.claude.write_rules import has_write_rule, is_about_writing


def _settings(file: Path, **permissions: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"permissions": permissions}))


def _holds(tmp_path: Path, sources: str | None = None) -> bool:
    return has_write_rule(
        tmp_path / "config", tmp_path / "project", sources, managed=tmp_path / "managed.json"
    )


@pytest.mark.parametrize(
    ("rule", "about"),
    [
        ("Write", True),
        ("Edit(~/.bashrc)", True),
        ("NotebookEdit(*)", True),
        ("Bash(rm:*)", False),
        ("Read(Write)", False),
    ],
)
def test_a_rule_is_about_writing_when_its_tool_writes(rule: str, about: bool) -> None:
    assert is_about_writing(rule) is about


def test_no_settings_hold_no_rule(tmp_path: Path) -> None:
    assert not _holds(tmp_path)


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("config/settings.json", "user"),
        ("project/.claude/settings.json", "project"),
        ("project/.claude/settings.local.json", "local"),
    ],
)
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_rule_counts_where_its_source_is_read(
    tmp_path: Path, place: str, source: str, kind: str
) -> None:
    _settings(tmp_path / place, **{kind: ["Bash(rm:*)", "Edit(~/**)"]})
    assert _holds(tmp_path)
    assert _holds(tmp_path, source)
    assert not _holds(tmp_path, "")


def test_the_administrators_rule_counts_without_any_source(tmp_path: Path) -> None:
    _settings(tmp_path / "managed.json", deny=["Write"])
    assert _holds(tmp_path, "")


def test_a_rule_that_allows_or_is_about_other_tools_does_not_count(tmp_path: Path) -> None:
    _settings(tmp_path / "config/settings.json", allow=["Write"], deny=["WebFetch"], ask=[])
    assert not _holds(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"permissions": 3}', '{"permissions":{"deny":1}}'])
def test_settings_that_cannot_be_understood_count_as_a_rule(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/settings.json").write_text(content)
    assert _holds(tmp_path)
