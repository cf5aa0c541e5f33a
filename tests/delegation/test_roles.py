"""Roles are data: what a file says, and what a wrong one is told."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.delegation.roles import _KEYS, SIZE_LIMIT, parse_role, read_roles
from hive_subagent.errors import ConfigurationError
from hive_subagent.permissions import MODES, TOP, PermissionMode, Permissions

READ_ONLY = ["planner", "researcher", "reviewer", "scout"]
WRITERS = {"Bash", "Edit", "NotebookEdit", "Write", "Agent", "Task"}
ROLE = """---
description: looks
permission_mode: plan
tools: Read
---
Look.
"""


def role(**values: str) -> str:
    """A role's file with these values added or replaced; an empty key is left out."""
    given = {"description": "looks", "permission_mode": "plan", "tools": "Read", **values}
    lines = [f"{key}: {value}" for key, value in given.items()]
    return "\n".join(["---", *lines, "---", "Look.", ""])


def test_the_shipped_roles_are_there() -> None:
    assert list(read_roles(None)) == ["planner", "researcher", "reviewer", "scout", "worker"]


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_shipped_read_only_role_has_no_tool_that_writes_and_no_server(name: str) -> None:
    found = read_roles(None)[name].permissions
    assert found.mode == "plan"
    assert found.tools is not None
    assert not found.tools & WRITERS
    assert found.servers == frozenset()
    assert "reads only" in read_roles(None)[name].description


def test_the_worker_is_held_by_its_parent_alone() -> None:
    assert read_roles(None)["worker"].permissions == TOP


def test_every_value_of_a_role_is_read() -> None:
    found = parse_role(
        "linter",
        role(
            permission_mode="acceptEdits",
            tools="Read, Edit ,Bash",
            disallowed_tools="Bash(git push *), WebFetch",
            allowed_tools="Bash(echo a, b), mcp__search",
            mcp_servers="search, notes",
            add_dirs="/srv/lib",
            model="haiku",
            effort="low",
        ),
    )
    assert (found.name, found.description, found.brief) == ("linter", "looks", "Look.\n")
    assert (found.model, found.effort) == ("haiku", "low")
    assert found.permissions == Permissions.of(
        "acceptEdits",
        tools=["Read", "Edit", "Bash"],
        denied=["Bash(git push *)", "WebFetch"],
        approved=["Bash(echo a, b)", "mcp__search"],
        servers=["search", "notes"],
        directories=["/srv/lib"],
    )


def test_what_is_not_named_is_not_granted() -> None:
    found = parse_role("looker", role(tools=""))
    assert found.permissions == Permissions.of("plan", tools=[], servers=[])
    assert (found.model, found.effort) == (None, None)


def test_a_brief_may_hold_lines_that_look_like_front_matter() -> None:
    assert parse_role("a", ROLE + "\n---\ntools: Bash\n---\n").brief.endswith("tools: Bash\n---\n")


def test_line_ends_and_marks_of_other_systems_are_read_over() -> None:
    assert parse_role("a", "\ufeff" + ROLE.replace("\n", "\r\n")).permissions.tools == frozenset(
        {"Read"}
    )


def test_a_directory_adds_roles_and_replaces_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "linter.md").write_text(role(description="lints"))
    (tmp_path / "scout.md").write_text(role(description="other"))
    (tmp_path / "notes.txt").write_text("not a role")
    found = read_roles(tmp_path)
    assert found["linter"].description == "lints"
    assert found["scout"].description == "other"
    assert found["worker"] == read_roles(None)["worker"]


FAULTS = {
    "no front matter": ("Look.\n", "line 1"),
    "no end": ("---\ntools: Read\n", "no end"),
    "no brief": (role().replace("Look.", " "), "no brief"),
    "no mode": (role().replace("permission_mode: plan\n", ""), "`permission_mode` is missing"),
    "no description": (role(description=" "), "`description` is empty"),
    "no tools": (role().replace("tools: Read\n", ""), "`tools` is missing"),
    "a line without a colon": (role().replace("tools:", "tools"), "line 4"),
    "an unknown key": (role(colour="blue"), "`colour`"),
    "a key twice": (role().replace("---\nLook", "tools: Bash\n---\nLook"), "twice"),
    "an unknown mode": (role(permission_mode="root"), "'root'"),
    "an unknown effort": (role(effort="heroic"), "'heroic'"),
    "a flag for a tool": (role(tools="--model"), "'--model'"),
    "all beside some": (role(tools="*, Read"), "tools"),
    "all where it means nothing": (role(disallowed_tools="*"), "disallowed_tools"),
    "an escape in the model": (role(model="opus\x1b[2J"), "`model` holds a control character"),
    "an escape in words": (role(description="a\x07b"), "`description` holds a control character"),
    "a relative directory": (role(permission_mode="default", add_dirs="lib"), "'lib'"),
    "a server in plan mode": (role(mcp_servers="notes"), "only reads"),
    "a shell approved in plan mode": (role(allowed_tools="Bash"), "only reads"),
    "approvals under the bypass": (
        role(permission_mode="bypassPermissions", allowed_tools="Bash"),
        "bypassPermissions",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_in_one_line_with_its_file(tmp_path: Path, fault: str) -> None:
    text, culprit = FAULTS[fault]
    (tmp_path / "broken.md").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_roles(tmp_path)
    assert re.fullmatch(rf"role {re.escape(str(tmp_path))}/broken.md: [^\n]+", str(caught.value))
    assert culprit in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * (SIZE_LIMIT + 1)])
def test_a_file_that_is_no_text_of_bounded_size_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.md").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"broken\.md"):
        read_roles(tmp_path)


def test_a_pipe_among_the_roles_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "broken.md")
    (tmp_path / "behind.md").symlink_to(tmp_path / "broken.md")
    with pytest.raises(ConfigurationError, match=r"behind\.md: it is not a regular file"):
        read_roles(tmp_path)


def test_a_role_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(ROLE)
    (tmp_path / "looker.md").symlink_to(tmp_path / "elsewhere")
    assert read_roles(tmp_path)["looker"].description == "looks"


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        read_roles(tmp_path / "nowhere")


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(ROLE)
    with pytest.raises(ConfigurationError, match="rename"):
        read_roles(tmp_path)


@given(text=st.text() | st.lists(st.sampled_from(ROLE.split("\n"))).map("\n".join))
def test_any_text_is_a_role_or_refused_in_one_line(text: str) -> None:
    refusal = ""
    try:
        parse_role("any", text)
    except ValueError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1


@given(mode=st.sampled_from(MODES), tools=st.sets(st.sampled_from(["Read", "Bash"])))
def test_a_role_means_what_was_written(mode: PermissionMode, tools: set[str]) -> None:
    found = parse_role("any", role(permission_mode=mode, tools=", ".join(tools)))
    assert found.permissions.mode == mode
    assert found.permissions.tools == frozenset(tools)


def test_the_page_of_roles_lists_the_shipped_ones_as_they_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "roles.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| `(\w+)` \| (.+?) \|$", page, re.MULTILINE)
    assert [name for name, *_ in rows] == ["scout", "planner", "reviewer", "researcher", "worker"]
    for name, _, mode, tools in rows:
        found = read_roles(None)[name]
        assert found.permissions.mode == mode
        listed = set(re.findall(r"[A-Z]\w+", tools))
        assert listed == (found.permissions.tools or set())
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) >= set(_KEYS)
