"""One real daemon process with directories of its own, started, asked, killed and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio


def find(name: str) -> str:
    """One of our programs: on PATH, else beside the interpreter."""
    return shutil.which(name) or str(Path(sys.executable).with_name(name))


DAEMON = find("hive-subagent-daemon")
STUB = find("hive-subagent-stub-claude")
ELSEWHERE = "elsewhere"
"""A directory below `work_dir` for sessions that do not live in it."""

READY_S = 60.0
STOP_S = 60.0


class NotReady(Exception):
    """The daemon ended before it served; the text is the end of its log."""


class Daemon:
    """A daemon below `root`; every start uses the same directories. `url` changes with each.

    `program` is what is started, with `environment` beside the daemon's own.
    """

    def __init__(
        self,
        root: Path,
        *,
        program: Sequence[str | Path] = (DAEMON,),
        environment: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.root = root
        self._program = program
        self._further = environment or {}
        self.state, self.runtime = root / "state", root / "run"
        self.work, self.claude, self.log = root / "work", root / "claude", root / "log"
        for directory in (self.work / ELSEWHERE, self.claude):
            directory.mkdir(parents=True)
        self.url = ""
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process started last."""
        assert self._process is not None
        return self._process.pid

    @property
    def identity(self) -> str:
        """What its children carry in HIVE_SUBAGENT_RUN before the colon."""
        return (self.state / "identity").read_text().strip()

    def spawn(self, *, port: int = 0) -> None:
        """Start the process; does not wait until it serves."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._program, "--port", str(port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.work,
                env=self._environment(),
            )

    async def ready(self) -> None:
        """Wait until the process started last serves. Raises NotReady."""
        with anyio.fail_after(READY_S):
            while not self.serves():
                if self._process is None or self._process.poll() is not None:
                    tail = self.log.read_text(errors="replace")[-2000:]
                    raise NotReady(f"the daemon ended before it served; its log ends:\n{tail}")
                await anyio.sleep(0.005)

    def serves(self) -> bool:
        """Whether the process started last is ready; from then on `url` is its own."""
        try:
            about = json.loads((self.runtime / "daemon.json").read_bytes())
        except FileNotFoundError:
            return False
        # the file of one that was killed is still there
        if about["pid"] != self.pid:
            return False
        self.url = about["url"]
        return True

    async def start(self) -> None:
        """`spawn` and `ready`."""
        self.spawn()
        await self.ready()

    async def kill(self) -> None:
        """SIGKILL it and wait for that."""
        assert self._process is not None
        self._process.kill()
        await anyio.to_thread.run_sync(self._process.wait)

    async def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(STOP_S):
            return await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)

    def abandon(self) -> None:
        """End it whatever state it is in, for a harness on its own way out."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    def notices(self) -> list[dict[str, Any]]:
        """What the directory sink holds."""
        found = (self.state / "todos").glob("*.json")
        return [json.loads(file.read_bytes()) for file in found if not file.name.startswith(".")]

    @property
    def owed(self) -> int:
        """Notices and promises that nobody has taken yet."""
        return sum(1 for file in (self.state / "owed").glob("*.json") if file.name[0] != ".")

    def transcript(self, session_id: str) -> bool:
        """Whether claude has kept this session."""
        return any((self.claude / "projects").glob(f"*/{session_id}.jsonl"))

    def titled(self, name: str) -> str:
        """The newest session that claude keeps under this title; empty where there is none."""
        mark = json.dumps({"customTitle": name})[1:-1].replace(": ", ":").encode()
        files = sorted((self.claude / "projects").glob("*/*.jsonl"), key=os.path.getmtime)
        return next((file.stem for file in reversed(files) if mark in file.read_bytes()), "")

    def _environment(self) -> Mapping[str, str]:
        settings: dict[str, Any] = {
            "state_dir": str(self.state),
            "runtime_dir": str(self.runtime),
            "claude_config_dir": str(self.claude),
            "claude_bin": STUB,
            "work_dir": str(self.work),
            **self._settings,
        }
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",  # as root claude refuses to skip permissions without it
            **self._further,
            **{f"HIVE_SUBAGENT_{key.upper()}": _plain(value) for key, value in settings.items()},
        }


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
