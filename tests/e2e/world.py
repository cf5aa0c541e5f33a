"""One test's world: a sandbox, a fake API, the daemon as a process, and calls to its tools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from mcp import Client
from support import programs

from e2e import install, processes
from e2e.fake_api import FakeApi
from e2e.sandbox import Sandbox

DAEMON = programs.ours("hive-subagent-daemon")
READY_S, STOP_S, RUN_S = 30.0, 30.0, 60.0


@dataclass(frozen=True)
class Answer:
    """What a tool answered."""

    text: str
    data: dict[str, Any]
    is_error: bool


@dataclass
class World:
    """Everything a test touches. `settings` go into the daemon's file when it is started."""

    sandbox: Sandbox
    api: FakeApi
    version: str
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    url: str = ""
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.sandbox.root / "daemon.log"

    @property
    def state_dir(self) -> Path:
        return self.sandbox.home / ".local" / "state" / "hive-subagent"

    @property
    def runtime_dir(self) -> Path:
        return self.state_dir / "runtime"

    @property
    def program(self) -> Path:
        return install.binary(self.version)

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[anyio.abc.Process]:
        """The daemon, ready; asked to stop in the end unless it is gone by then."""
        (self.runtime_dir / "daemon.json").unlink(missing_ok=True)
        config = self.sandbox.root / "config.json"
        config.write_text(json.dumps(self._configuration()))
        environment = self.sandbox.environment(self.api.url, **self.environment)
        with self.log.open("ab") as log:
            process = await anyio.open_process(
                [DAEMON, "--config", config],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.sandbox.dir,
                env=environment,
            )
        async with process:
            try:
                self.url = (await self._ready(process))["url"]
                yield process
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(STOP_S):
                    if process.returncode is None:
                        process.terminate()
                    await process.wait()

    def _configuration(self) -> dict[str, Any]:
        """A free port, since daemons run side by side; what the test asks for; nothing else."""
        passed_on = {"child_env": [*self.environment]} if self.environment else {}
        return {"port": 0, **passed_on, **self.settings}

    async def _ready(self, process: anyio.abc.Process) -> dict[str, Any]:
        found = self.runtime_dir / "daemon.json"
        with anyio.fail_after(READY_S):
            while not found.exists():
                assert process.returncode is None, self.log.read_text()
                await anyio.sleep(0.02)
        ready: dict[str, Any] = json.loads(found.read_bytes())
        return ready

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call one tool of the daemon, over a connection of its own."""
        async with Client(f"{self.url}/mcp") as client:
            result = await client.call_tool(tool, arguments, read_timeout_seconds=RUN_S * 2)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return Answer(text, dict(result.structured_content or {}), bool(result.is_error))

    async def must(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that has to go well."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.data

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that has to be refused."""
        answer = await self.call(tool, **arguments)
        assert answer.is_error, answer.data
        return answer.text

    async def start(self, name: str, trigger: str, **arguments: Any) -> dict[str, Any]:
        """`start` with a brief that says BRIEF-OF-<name>."""
        brief = self.sandbox.root / f"{name}.md"
        brief.write_text(f"BRIEF-OF-{name}\n")
        return await self.must(
            "start", name=name, prompt_file=str(brief), trigger=trigger, **arguments
        )

    async def ended(self, name: str) -> dict[str, Any]:
        """The session object of a run, once it has ended."""
        reply = await self.must("wait", names=[name], timeout_s=RUN_S)
        assert reply["done"], reply
        session: dict[str, Any] = reply["sessions"][0]
        print(json.dumps(session, indent=1))  # shown where the test failed
        return session

    def notices(self) -> list[dict[str, Any]]:
        """Every notice delivered so far, oldest first."""
        found = [json.loads(p.read_bytes()) for p in (self.state_dir / "todos").glob("*.json")]
        return sorted(found, key=lambda notice: notice["at"])

    async def notice(self, name: str) -> dict[str, Any]:
        """The first notice about this name; it is delivered a moment after the ending is known."""
        with anyio.fail_after(RUN_S):
            while not (its := [one for one in self.notices() if one["name"] == name]):  # noqa: ASYNC110
                await anyio.sleep(0.02)
        return its[0]

    def alive(self) -> dict[int, str]:
        """Children of this world's daemon, theirs included; not the daemon itself."""
        found = processes.alive(self.sandbox.home)
        return {pid: said for pid, said in found.items() if str(DAEMON) not in said}
