"""docs/reference/tools.md says what the tools take and answer, name for name."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from mcp.server import MCPServer

from hive_subagent.delegation.roles import read_roles
from hive_subagent.delegation.service import DelegationService
from hive_subagent.intervention.service import InterventionService
from hive_subagent.models.session import Cause, FailureCause, SessionView, State, StopReason
from hive_subagent.server.owner_tools import build_agent_server
from hive_subagent.server.signal_tools import build_signal_server
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.service import SessionService

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "tools.md").read_text()
# listing the tools asks nothing of what they work on
AGENT = build_agent_server(
    cast(SessionService, None),
    cast(InterventionService, None),
    cast(DelegationService, SimpleNamespace(roles=read_roles(None))),
)
SIGNAL = build_signal_server(cast(Registry, None))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def section(heading: str) -> str:
    """The text below a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/tools.md has no section {heading}"
    return found[1]


async def parameters(server: MCPServer) -> dict[str, set[str]]:
    return {tool.name: set(tool.input_schema["properties"]) for tool in await server.list_tools()}


async def test_every_tool_of_the_owner_has_a_section_with_its_parameters() -> None:
    for tool, names in (await parameters(AGENT)).items():
        text = section(f"`{tool}`")
        missing = {name for name in names if not re.search(rf"`{name}`", text)}
        assert not missing, f"{tool}: {missing}"


async def test_the_signals_are_described_with_their_parameters() -> None:
    text = section("Tools of `/signal`")
    for tool, names in (await parameters(SIGNAL)).items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{tool}`"))
        assert all(name in row for name in names)


def test_every_field_of_a_session_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", section("Session object")))
    assert set(SessionView.model_fields) <= described
    assert {state.value for state in State} <= described
    assert {cause.value for cause in Cause} <= described
    causes = set(re.findall(r"^\| `(\w+)`", section("Causes of a failure"), re.MULTILINE))
    assert causes == {"cause", *(cause.value for cause in FailureCause)}


def test_every_stop_reason_stands_in_the_table_of_endings() -> None:
    assert {reason.value for reason in StopReason} <= set(
        re.findall(r"`(\w+)`", section("Endings"))
    )
