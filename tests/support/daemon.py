"""One test world with a real daemon in it: its directories, its process, calls to its tools."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from support import processes, programs, rpc
from support.owed import last_entry
from support.rpc import Answer
from support.stub import STUB

PROGRAM = programs.ours("hive-subagent-daemon")
CALL_S = 60.0


@dataclass
class Daemon:
    """A world below `root`.

    `settings` and `environment` are used by the next `start`, which begins its command line with
    `launcher` and inherits the descriptors `inherited`; `headers` go with each call.
    Grace times are short: with the stub nothing needs more, and a test should not wait for them.
    """

    root: Path
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    inherited: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    url: str = ""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(200))

    def __post_init__(self) -> None:
        for folder in ("work", "home", "claude"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.state_dir = self.root / "state"
        self.runtime_dir = self.root / "run"
        self.claude_dir = self.root / "claude"
        self.work_dir = self.root / "work"
        self.log_file = self.root / "daemon.log"

    @property
    def configuration(self) -> dict[str, Any]:
        return {
            "port": 0,
            "claude_bin": str(STUB),
            "claude_config_dir": str(self.claude_dir),
            "work_dir": str(self.work_dir),
            "state_dir": str(self.state_dir),
            "runtime_dir": str(self.runtime_dir),
            "interrupt_grace_s": 0.5,
            "exit_grace_s": 2.0,
            "shutdown_grace_s": 2.0,
            "max_running": 64,
            **self.settings,
        }

    @property
    def base_environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",  # claude refuses to bypass permissions as root without it
            **self.environment,
        }

    def spawn(self, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
        """The daemon's program as configured; stderr and stdout go into the log."""
        config = self.root / "config.json"
        config.write_text(json.dumps(self.configuration))
        with self.log_file.open("ab") as log:
            return subprocess.Popen(
                [*self.launcher, str(PROGRAM), "--config", str(config), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.root,
                env=self.base_environment,
                pass_fds=(*self.inherited, *pass_fds),
            )

    def start(self) -> dict[str, Any]:
        """Start it and wait until it is ready; returns what daemon.json says."""
        (self.runtime_dir / "daemon.json").unlink(missing_ok=True)
        process = self.process = self.spawn()
        ready = self.runtime_dir / "daemon.json"
        processes.wait_until(
            lambda: ready.exists() or process.poll() is not None, "the daemon to be ready"
        )
        assert process.poll() is None, self.log
        about: dict[str, Any] = json.loads(ready.read_bytes())
        self.url = about["url"]
        return about

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(processes.PATIENCE_S)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Stop cleanly and start again on the same directories."""
        assert self.stop() == 0, self.log
        self.start()

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def identity(self) -> str:
        return (self.state_dir / "identity").read_text().strip()

    def children(self) -> dict[int, str]:
        """Every living process that a run of this daemon started."""
        return processes.of_runs(self.identity)

    def name(self) -> str:
        """A name that no test of this world has used."""
        return f"agent-{next(self._numbers)}"

    def brief(self, content: str = "Do what the message says.\n") -> str:
        """A prompt file; returns its path."""
        file = self.root / f"brief-{next(self._numbers)}.md"
        file.write_text(content)
        return str(file)

    def gate(self) -> Path:
        """A path for the steps `wait_file` and `touch`; nothing is there yet."""
        return self.root / f"gate-{next(self._numbers)}"

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call one tool, over a connection of its own."""
        return await anyio.to_thread.run_sync(
            lambda: rpc.call(f"{self.url}/mcp", tool, arguments, self.headers),
            limiter=self._limiter,
        )

    async def must(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that has to go well."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.data

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that has to be refused."""
        answer = await self.call(tool, **arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def begin(self, does: str, name: str = "", **arguments: Any) -> str:
        """`start` a run whose brief holds the script `does`; returns its name."""
        name = name or self.name()
        given = {"prompt_file": self.brief(does), **arguments}
        await self.must("start", name=name, **given)
        return name

    async def ended(self, name: str) -> dict[str, Any]:
        """The session object of a run, once it has ended."""
        reply = await self.must("wait", names=[name], timeout_s=CALL_S)
        assert reply["done"], reply
        session: dict[str, Any] = reply["sessions"][0]
        return session

    async def in_tool(self, name: str) -> dict[str, Any]:
        """The session object of a run, once it has a tool open."""
        with anyio.fail_after(processes.PATIENCE_S):
            while True:
                session = await self.must("status", name=name)
                if session["open_tool"] is not None:
                    return session
                await anyio.sleep(0.02)

    async def run(self, does: str, name: str = "", **arguments: Any) -> dict[str, Any]:
        """`begin` and see the end: the session object."""
        return await self.ended(await self.begin(does, name, **arguments))

    def notices(self, name: str | None = None) -> list[dict[str, Any]]:
        """The notices in the directory sink, oldest first; only those of a name, if given."""
        files = (self.state_dir / "todos").glob("*.json")
        found = sorted((json.loads(f.read_bytes()) for f in files), key=lambda n: n["at"])
        return [notice for notice in found if name in (None, notice["name"])]

    async def notice(self, name: str, *, count: int = 1) -> dict[str, Any]:
        """The newest notice of a name, once there are `count` of them and none is owed."""
        await processes.until(
            lambda: len(self.notices(name)) >= count and name not in self.owed(),
            f"notice {count} of {name}",
        )
        found = self.notices(name)
        assert len(found) == count, found
        return found[-1]

    def owed(self) -> list[str]:
        """The names of the runs that a notice is still owed for."""
        names = []
        for file in (self.state_dir / "owed").glob("*.json"):
            try:
                entry = last_entry(file.read_bytes())
            except FileNotFoundError:  # delivered a moment ago
                continue
            names.append((entry["notice"] if "notice" in entry else entry["payload"])["name"])
        return names

    def claude_by_hand(
        self, *options: str, prompt: str = "hello", directory: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run claude to its end as a person would, without the daemon."""
        return subprocess.run(
            [STUB, "-p", *options],
            input=prompt.encode(),
            capture_output=True,
            check=False,
            cwd=directory or self.work_dir,
            env={**self.base_environment, "CLAUDE_CONFIG_DIR": str(self.claude_dir)},
            timeout=CALL_S,
        )

    def transcripts(self) -> list[Path]:
        """Every session that claude can see."""
        return sorted((self.claude_dir / "projects").glob("*/*.jsonl"))
