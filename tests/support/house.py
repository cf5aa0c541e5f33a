"""A supervisor in this very process, with real containment and the real stub, and no HTTP."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import anyio.abc

from hive_subagent.claude.mcp_config import ConfigFiles, McpServer
from hive_subagent.containment import Containment, Hierarchy
from hive_subagent.models.session import SessionView
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.outbox.sinks import DirSink
from hive_subagent.sessions import idle_tracker
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.registry import Registry
from hive_subagent.sessions.service import SessionService
from hive_subagent.sessions.store import SessionStore
from hive_subagent.settings import Settings
from hive_subagent.system.instance import state_identity
from hive_subagent.system.private_files import private_directory
from support import processes, signals
from support.stub import STUB

DONE_S = 20.0


@dataclass
class House:
    """What stands in a test: the supervisor and the rooms around it."""

    root: Path
    settings: Settings
    executor: Executor
    service: SessionService
    tasks: anyio.abc.TaskGroup
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def brief(self, content: str = "Do what the message says.\n") -> str:
        """A prompt file; returns its path."""
        file = self.root / f"brief-{next(self._numbers)}.md"
        file.write_text(content)
        return str(file)

    def gate(self) -> Path:
        """A path for the steps `wait_file` and `touch`; nothing is there yet."""
        return self.root / f"gate-{next(self._numbers)}"

    async def begin(self, does: str, name: str = "agent", **options: Any) -> LiveSession:
        """Start a run whose brief holds the script `does`; returns its live session."""
        await self.service.start(name, self.brief(does), options=Options(**options))
        live = self.executor.registry.running(name)
        assert live is not None
        return live

    async def ended(self, name: str = "agent") -> SessionView:
        """A run's session, once it has ended."""
        live = self.executor.registry.running(name)
        if live is not None:
            with anyio.fail_after(DONE_S):
                await live.over.wait()
        view, _ = await self.service.status(name)
        return view

    async def run(self, does: str, name: str = "agent", **options: Any) -> SessionView:
        """`begin` and see the end."""
        await self.service.start(name, self.brief(does), options=Options(**options))
        return await self.ended(name)

    async def notices(self, count: int = 1) -> list[dict[str, Any]]:
        """All notices, oldest first, once there are `count` of them and none is owed."""
        todos, owed = self.root / "state" / "todos", self.root / "state" / "owed"
        await processes.until(
            lambda: len(list(todos.glob("*.json"))) >= count and not list(owed.glob("*.json")),
            f"{count} notices",
        )
        found = [json.loads(file.read_bytes()) for file in todos.glob("*.json")]
        assert len(found) == count, found
        return sorted(found, key=lambda notice: notice["at"])

    def left_behind(self) -> dict[int, str]:
        """Living processes of this house's runs."""
        return processes.of_runs((self.root / "state" / "identity").read_text().strip())


@asynccontextmanager
async def house(
    root: Path,
    *,
    hierarchy: Hierarchy | None = None,
    bound_s: float = 5.0,
    servers: Mapping[str, McpServer] = MappingProxyType({}),
    signal_url: str | None = None,
    **settings: Any,
) -> AsyncIterator[House]:
    """A supervisor below `root`; it is closed in the end, and nothing may be alive then.

    `hierarchy` stands in for the cgroups of the machine, `signal_url` for the address of the
    subagents' own MCP server. `servers` are opted in for subagents.
    """
    for folder in ("work", "claude"):
        (root / folder).mkdir(exist_ok=True)
    made = Settings(
        **{
            "claude_bin": str(STUB),
            "claude_config_dir": root / "claude",
            "work_dir": root / "work",
            "state_dir": root / "state",
            "runtime_dir": root / "run",
            "interrupt_grace_s": 0.5,
            "exit_grace_s": 2.0,
            "shutdown_grace_s": 2.0,
            **settings,
        }
    )
    for private in (made.state_dir, made.runtime):
        private_directory(private)
    # claude refuses to bypass permissions as root without it; children inherit ours
    os.environ["IS_SANDBOX"] = "1"
    containment = Containment.create(
        identity=state_identity(made.state_dir),
        memory_max=made.memory_max,
        hierarchy=hierarchy,
        bound_s=bound_s,
    )
    containment.start()
    outbox = Outbox(made.state_dir, [DirSink(made.state_dir / "todos")])
    records = SessionStore(made.state_dir)
    registry = Registry(records, max_running=made.max_running)
    try:
        async with signals.served() as url, anyio.create_task_group() as tasks:
            at = url if signal_url is None else signal_url
            access = ConfigFiles(
                made.runtime, dict(servers), lambda token: f"{at}/signal/{token}/mcp"
            )
            tasks.start_soon(outbox.run)
            tasks.start_soon(idle_tracker.watch, lambda: registry.live)
            executor = Executor(made, containment, records, registry, outbox, access, tasks)
            service = SessionService(executor)
            yield House(root, made, executor, service, tasks)
            await service.close()
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await containment.end_everything()
            await containment.stop()
    assert processes.of_runs(state_identity(made.state_dir)) == {}
