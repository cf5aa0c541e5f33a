"""How a session is called: never above the daemon's settings, never above what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.claude.mcp_config import Grant
from hive_subagent.claude.tools import ALWAYS_DENIED
from hive_subagent.permissions import CHILD, MODES, TOP, PermissionMode, Permissions
from hive_subagent.sessions.launch import Launch, grant_for, invoke, permissions_of
from hive_subagent.sessions.order import Order
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.settings import Settings

NOTHING = Grant(None, ())


class Access:
    """Notes what was granted."""

    def __init__(self) -> None:
        self.granted: list[tuple[frozenset[str] | None, bool]] = []

    def grant(
        self,
        run_id: str,
        *,
        token: str | None,
        servers: frozenset[str] | None = None,
        owner: bool = True,
    ) -> Grant:
        self.granted.append((servers, owner))
        return NOTHING

    def withdraw(self, run_id: str) -> None:
        return


def record(permissions: Permissions | None = None, depth: int = 0) -> SessionRecord:
    return SessionRecord(
        name="a", session_id="u", dir="/srv", ours=True, permissions=permissions, depth=depth
    )


def argv(settings: Settings, of: SessionRecord, grant: Grant = NOTHING) -> tuple[str, ...]:
    launch = Launch(record=of, order=Order("go"), program="claude", brief=None)
    return invoke(launch, settings, grant, {}).argv


@pytest.mark.parametrize("mode", MODES)
def test_a_plain_session_is_called_as_the_settings_say(mode: PermissionMode) -> None:
    found = argv(Settings(permission_mode=mode, tools=["Read", "Bash"]), record())
    assert ("--dangerously-skip-permissions" in found) == (mode == "bypassPermissions")
    assert (f"--permission-mode={mode}" in found) == (mode != "bypassPermissions")
    assert "--tools=Bash,Read" in found
    assert "--setting-sources=" in found


def test_where_nothing_is_taken_away_no_flag_says_so() -> None:
    found = argv(Settings(setting_sources="user"), record())
    assert not any(
        a.startswith(("--tools", "--allowedTools", "--add-dir", "--effort")) for a in found
    )


def test_what_no_run_has_does_not_confine_a_session() -> None:
    """Issue 9, 5: it reads the settings that it would read, and may do what it might."""
    settings = Settings(setting_sources="user,project")
    found = argv(settings, record())
    assert "--setting-sources=user,project" in found
    assert f"--disallowedTools={','.join(ALWAYS_DENIED)}" in found
    assert permissions_of(record(), settings) == TOP
    assert not any(a.startswith("--setting-sources") for a in argv(Settings(), record()))


def test_what_a_session_was_given_holds_under_any_later_settings() -> None:
    """A ceiling is kept with the session: settings that were raised since do not raise it."""
    given_then = Permissions.of("plan", tools=["Read"], servers=[])
    found = argv(Settings(permission_mode="bypassPermissions"), record(given_then))
    assert "--permission-mode=plan" in found
    assert "--tools=Read" in found


def test_settings_that_were_lowered_since_lower_it() -> None:
    worker = record(CHILD)
    assert "--dangerously-skip-permissions" in argv(Settings(), worker)
    assert "--permission-mode=dontAsk" in argv(Settings(permission_mode="dontAsk"), worker)


def test_approvals_of_servers_and_of_tools_go_together() -> None:
    settings = Settings(permission_mode="default", allowed_tools=["Bash(make *)"])
    found = argv(settings, record(), Grant(Path("/run/x.json"), ("mcp__search",)))
    assert "--allowedTools=mcp__search,Bash(make *)" in found


def test_a_child_reads_no_settings_of_others_unless_it_is_as_free_as_its_parent() -> None:
    settings = Settings(setting_sources="project")
    assert "--setting-sources=project" in argv(settings, record(CHILD))
    no_shell = CHILD.meet(Permissions.of("bypassPermissions", denied=["Bash"]))
    assert "--setting-sources=" in argv(settings, record(no_shell))


def test_servers_are_granted_by_the_permission_and_ours_only_to_sessions_at_the_top() -> None:
    access = Access()
    few = Permissions.of("bypassPermissions", servers=["search"])
    for of in (record(), record(few), record(few, depth=1)):
        launch = Launch(record=of, order=Order("go"), program="claude", brief=None)
        grant_for(launch, Settings(), access, "run", token=None)
    assert access.granted == [(None, True), (frozenset({"search"}), True), (few.servers, False)]


@given(
    parent=st.sampled_from(MODES),
    child=st.sampled_from(MODES),
    parents=st.none() | st.frozensets(st.sampled_from(["Bash", "Read", "Write"])),
    childs=st.none() | st.frozensets(st.sampled_from(["Bash", "Read", "Write"])),
)
def test_no_child_is_called_with_more_than_its_parent(
    parent: PermissionMode,
    child: PermissionMode,
    parents: frozenset[str] | None,
    childs: frozenset[str] | None,
) -> None:
    """R29."""
    settings = Settings(permission_mode=parent, tools=None if parents is None else list(parents))
    of = record(Permissions.of(child, tools=childs).meet(CHILD))
    assert permissions_of(of, settings) <= settings.ceiling
    found = argv(settings, of)
    bypassed = "--dangerously-skip-permissions" in found
    assert bypassed == (parent == child == "bypassPermissions")
    tools = [a.removeprefix("--tools=") for a in found if a.startswith("--tools=")]
    for bound in (parents, childs):
        if bound is not None:
            assert set(tools[0].split(",")) - {""} <= bound
