"""The launch of one run, and how claude is called for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio

from hive_subagent.claude.invocation import Invocation, build_argv, child_environment, flags_for
from hive_subagent.claude.mcp_config import Grant
from hive_subagent.claude.session_lock import TranscriptLock
from hive_subagent.permissions import TOP, Permissions
from hive_subagent.sessions.order import Order
from hive_subagent.sessions.store import SessionRecord
from hive_subagent.settings import Settings


class McpAccess(Protocol):
    """Writes and removes the MCP configuration of one run."""

    def grant(
        self,
        run_id: str,
        *,
        token: str | None,
        servers: frozenset[str] | None = None,
        owner: bool = True,
    ) -> Grant:
        """Grant `servers`, None for all that are opted in, and with a token the signals.

        Without `owner` no server is granted that would make the subagent an owner of others.
        Raises SubagentError when the configuration cannot be written.
        """

    def withdraw(self, run_id: str) -> None:
        """Remove it; harmless when there is none."""


@dataclass(frozen=True)
class Launch:
    """One run to begin: of a new session (`resume` is None) or a resumed one.

    `keeps_limit` says that the memory limit is the session's, and not of this call.
    """

    record: SessionRecord
    order: Order
    program: str
    brief: Path | None
    resume: str | None = None
    predecessor: SessionRecord | None = None
    lock: TranscriptLock | None = None
    keeps_limit: bool = False


def _reached_directly(host: str) -> list[str]:
    """Hosts that a child reaches without its proxy: loopback, and where the daemon listens."""
    return ["localhost", "127.0.0.1", "::1", "[::1]", host, *([f"[{host}]"] if ":" in host else [])]


LAUNCHES_PER_CORE = 4
"""Runs that begin at the same time for each core; the next ones wait within their call.

A claude that starts takes a core for half a second. Thirty at once on one core took the daemon the
time to report to its watchdog.
"""


def launch_slots() -> anyio.CapacityLimiter:
    """The limit of how many runs begin at the same time."""
    return anyio.CapacityLimiter(LAUNCHES_PER_CORE * len(os.sched_getaffinity(0)))


def permissions_of(record: SessionRecord, settings: Settings) -> Permissions:
    """What a session may do: never above what the daemon's settings are now."""
    return settings.ceiling.meet(record.permissions or TOP)


def order_of(record: SessionRecord, prompt: str, settings: Settings) -> Order:
    """What one run of a session is asked."""
    wait_s = record.background_wait_s
    return Order(
        prompt=prompt,
        goal=record.goal,
        max_turns=1 if record.goal is None else record.max_turns or 1,
        turn_timeout_s=record.turn_timeout_s,
        background_wait_s=settings.background_wait_s if wait_s is None else wait_s,
    )


def grant_for(
    launch: Launch, settings: Settings, access: McpAccess, run_id: str, *, token: str | None
) -> Grant:
    """The servers of one run. Raises SubagentError."""
    record = launch.record
    servers = flags_for(permissions_of(record, settings)).servers
    return access.grant(run_id, token=token, servers=servers, owner=record.depth == 0)


def invoke(
    launch: Launch, settings: Settings, grant: Grant, enclosed: Mapping[str, str]
) -> Invocation:
    """How claude is called; `enclosed` are the variables of its enclosure."""
    record = launch.record
    allowed = permissions_of(record, settings)
    flags = flags_for(allowed)
    argv = build_argv(
        launch.program,
        session_id=record.session_id,
        name=record.name,
        resume=launch.resume,
        brief=launch.brief,
        model=record.model or settings.default_model,
        effort=record.effort,
        mcp_config=grant.config,
        tools=flags.tools,
        disallowed_tools=flags.denied,
        allowed_tools=(*grant.allowed_tools, *flags.approved),
        add_dirs=flags.directories,
        permission_mode=flags.mode,
        setting_sources="" if allowed.confined else settings.setting_sources,
    )
    environment = child_environment(
        os.environ,
        config_dir=settings.child_config_dir,
        further=settings.child_env,
        direct=_reached_directly(settings.host),
    )
    return Invocation(argv, environment | dict(enclosed), Path(record.dir))
