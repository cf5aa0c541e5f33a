"""The lattice of permissions: its laws, and that its order is the one claude really has.

`Probe` and `allows` hold what each mode did with nobody to ask, measured with 2.1.332 and 2.1.197.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hive_subagent.claude.invocation import Flags, flags_for
from hive_subagent.claude.write_rules import writes_anywhere
from hive_subagent.permissions import (
    CHILD,
    MODES,
    TOP,
    UNATTENDED,
    PermissionMode,
    Permissions,
    covers_path,
    covers_rule,
)

TOOLS = ["Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "Write", "Agent"]
RULES = [*TOOLS, "Bash(git *)", "mcp__search", "mcp__search__find", "mcp__search__*", "mcp__notes"]
PLACES = ["/srv", "/srv/app", "/srv/app/src", "/srv/apple", "/opt"]


def some(values: list[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(values))


@st.composite
def permissions(draw: st.DrawFn) -> Permissions:
    mode = draw(st.sampled_from(MODES))
    bypass = mode == "bypassPermissions"
    return Permissions(
        mode=mode,
        tools=draw(st.none() | some(TOOLS)),
        denied=draw(some(RULES)),
        approved=None if bypass else draw(some(RULES)),
        servers=draw(st.none() | some(["search", "notes"])),
        directories=None if bypass else draw(some(PLACES)),
        beyond=mode in ("auto", "bypassPermissions") or (mode == "plan" and draw(st.booleans())),
    )


@given(one=permissions(), other=permissions())
def test_a_meet_is_below_both(one: Permissions, other: Permissions) -> None:
    """R29."""
    met = one.meet(other)
    assert met <= one
    assert met <= other


@given(one=permissions(), other=permissions(), third=permissions())
def test_a_meet_is_the_highest_that_is_below_both(
    one: Permissions, other: Permissions, third: Permissions
) -> None:
    low = one.meet(other).meet(third)
    assert low <= one.meet(other)
    if third <= one and third <= other:
        assert third <= one.meet(other)


@given(one=permissions(), other=permissions())
def test_the_order_of_the_two_does_not_matter(one: Permissions, other: Permissions) -> None:
    assert one.meet(other) == other.meet(one)


@given(one=permissions(), other=permissions(), third=permissions())
def test_neither_does_the_order_of_three(
    one: Permissions, other: Permissions, third: Permissions
) -> None:
    assert one.meet(other).meet(third) == one.meet(other.meet(third))


@given(one=permissions())
def test_a_permission_met_with_itself_or_the_top_is_the_same(one: Permissions) -> None:
    assert one.meet(one) == one
    assert one.meet(TOP) == one
    assert one <= TOP


@given(one=permissions(), other=permissions())
def test_what_is_below_each_other_is_equal(one: Permissions, other: Permissions) -> None:
    assert (one <= other and other <= one) == (one == other)
    assert (one <= other) == (one.meet(other) == one)


@given(one=permissions())
def test_it_survives_being_written_as_json(one: Permissions) -> None:
    kept = TypeAdapter(Permissions)
    assert kept.validate_json(kept.dump_json(one)) == one


@dataclass(frozen=True)
class Probe:
    """One call of a tool by the model of a session that works in /srv."""

    tool: str
    path: str | None = None
    changes: bool = False


PROBES = [
    Probe("Read", "/srv/a"),
    Probe("Bash"),
    Probe("Bash", changes=True),
    Probe("Write", "/srv/a", changes=True),
    Probe("Edit", "/srv/a", changes=True),
    Probe("NotebookEdit", "/srv/a", changes=True),
    Probe("WebFetch"),
    Probe("mcp__search__find", changes=True),
    Probe("mcp__notes__put", changes=True),
    *(Probe("Read", f"{place}/a") for place in PLACES),
    *(Probe("Write", f"{place}/a", changes=True) for place in PLACES),
]


def allows(flags: Flags, probe: Probe, *, old: bool) -> bool:
    """What claude did."""
    server = probe.tool.split("__")[1] if probe.tool.startswith("mcp__") else None
    if server is not None and flags.servers is not None and server not in flags.servers:
        return False
    if server is None and flags.tools is not None and probe.tool not in flags.tools:
        return False
    if any(covers_rule(rule.removesuffix("__*"), probe.tool) for rule in flags.denied):
        return False
    if flags.mode == "bypassPermissions":
        return True
    near = probe.path is None or any(
        covers_path(place, probe.path) for place in ("/srv", *flags.directories)
    )
    approved = any(covers_rule(rule, probe.tool) for rule in flags.approved)
    if flags.mode == "plan":
        if not probe.changes and probe.tool in ("Read", "Bash"):
            return near or not old
        # 2.1.197 runs what is approved, writes of its own tools excepted; 2.1.332 but the reading
        return approved and (not probe.changes or (old and probe.tool not in flags_of_files))
    if approved:
        return True
    if not probe.changes and probe.tool in ("Read", "Bash"):
        return near or flags.mode == "auto"
    if probe.tool in flags_of_files:
        return near and flags.mode in ("acceptEdits", "auto")
    # the shell's own writes count as edits where those are allowed
    return probe.tool == "Bash" and flags.mode in ("acceptEdits", "auto")


flags_of_files = frozenset({"Edit", "NotebookEdit", "Write"})


@pytest.mark.parametrize("old", [False, True], ids=["2.1.332", "2.1.197"])
@given(one=permissions(), other=permissions())
def test_what_a_meet_allows_was_allowed_by_both(
    old: bool, one: Permissions, other: Permissions
) -> None:
    """R29."""
    met = flags_for(one.meet(other))
    for probe in PROBES:
        if allows(met, probe, old=old):
            assert allows(flags_for(one), probe, old=old), (probe, met)
            assert allows(flags_for(other), probe, old=old), (probe, met)


def test_a_rule_covers_its_patterns_and_a_server_its_tools() -> None:
    assert covers_rule("Bash", "Bash(git *)")
    assert not covers_rule("Bash(git *)", "Bash")
    assert covers_rule("mcp__search", "mcp__search__find")
    assert not covers_rule("mcp__search", "mcp__searches__find")


def test_a_directory_covers_what_is_in_it_and_not_its_namesakes() -> None:
    assert covers_path("/srv/app", "/srv/app/src")
    assert not covers_path("/srv/app", "/srv/apple")


def test_links_in_directories_are_followed_when_they_are_written_down(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made = Permissions.of("default", directories=[tmp_path / "link"])
    assert made.directories == frozenset({str(tmp_path / "real")})


def test_a_child_lacks_every_tool_that_hands_work_on_or_asks_a_person() -> None:
    assert CHILD.meet(TOP).denied >= UNATTENDED
    assert not CHILD.confined


def test_plan_mode_under_a_confined_parent_is_held_by_another_mode() -> None:
    parent = Permissions.of("acceptEdits", approved=["Bash", "WebFetch"], directories=["/srv"])
    flags = flags_for(parent.meet(Permissions.of("plan", approved=["WebFetch"])))
    assert (flags.mode, flags.approved) == ("dontAsk", ("WebFetch",))
    assert flags_of_files <= set(flags.denied)
    assert flags.servers == frozenset()


@pytest.mark.parametrize(
    ("mode", "further"),
    [
        ("bypassPermissions", {"approved": ["Bash"]}),
        ("bypassPermissions", {"directories": ["/srv"]}),
        ("auto", {"beyond": False}),
        ("default", {"beyond": True}),
        ("plan", {"tools": ["read"]}),
        ("plan", {"tools": ["--model"]}),
        ("plan", {"denied": ["Bash,Write"]}),
        ("plan", {"approved": ["Bash(a)(b)"]}),
    ],
)
def test_what_claude_could_not_be_held_to_is_refused(
    mode: PermissionMode, further: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        Permissions.of(mode, **further)


def test_the_parts_are_those_of_the_claims_above() -> None:
    """A part that `permissions` does not draw would not be held to the laws."""
    assert set(Permissions.__dataclass_fields__) == {
        "mode",
        "tools",
        "denied",
        "approved",
        "servers",
        "directories",
        "beyond",
    }
    assert replace(TOP, mode="bypassPermissions") == TOP


@pytest.mark.parametrize(
    ("permissions", "writes"),
    [
        (TOP, True),
        (CHILD, True),
        (Permissions.of("bypassPermissions", denied=["WebFetch", "Bash(git push *)"]), True),
        (Permissions.of("bypassPermissions", tools=["Read", "Write"]), True),
        (Permissions.of("bypassPermissions", tools=["Read", "Edit"]), False),
        (Permissions.of("bypassPermissions", denied=["Bash", "Write"]), False),
        (Permissions.of("acceptEdits"), False),
        (Permissions.of("plan"), False),
    ],
)
def test_which_permissions_write_anywhere(permissions: Permissions, *, writes: bool) -> None:
    assert writes_anywhere(permissions) == writes
