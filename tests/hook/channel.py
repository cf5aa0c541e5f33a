"""A parent's side of one channel, and the hook as the process that a session would start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_subagent_hook import main as hook

HOOK = Path(hook.__file__)
PYTHON = getattr(sys, "_base_executable", sys.executable)  # what `python3` would be
TASK = "build-1"


@dataclass(frozen=True)
class Answer:
    """What one hook process left behind; `said` is its stdout as JSON, None where it is silent."""

    said: Any
    log: str

    @property
    def reason(self) -> str:
        assert self.said is not None
        assert self.said["decision"] == "block"
        return str(self.said["reason"])


def event(name: str = "PostToolUse", **fields: Any) -> bytes:
    """One hook event as the CLI writes it on stdin."""
    known = {
        "session_id": "5f0c",
        "hook_event_name": name,
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
    }
    return json.dumps({**known, **fields}).encode()


@dataclass(frozen=True)
class Channel:
    """A project folder with `temp/TASK/` in it, and what the hook's command line begins with."""

    project: Path
    task: str = TASK
    prefix: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.project / "temp" / self.task

    @property
    def keyinfo(self) -> Path:
        return self.project / ".claude" / "hooks" / "state" / f"keyinfo-{self.task}.txt"

    def put(self, name: str, content: str | bytes) -> None:
        """Write a file of the channel as a parent should: beside it, then by rename."""
        draft = self.folder / f".{name}.draft"
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        draft.rename(self.folder / name)

    def names(self) -> set[str]:
        left = {path.name for path in self.folder.iterdir()} - {"output.txt"}
        return {name for name in left if not name.startswith(hook.TOLD)}

    def later(self) -> None:
        """Let so much time have passed since a stop that what comes is another step."""
        for told in self.folder.glob(f"{hook.TOLD}*"):
            since = int(told.name.removeprefix(hook.TOLD)) - int(hook.PARALLEL_S * 1e9)
            told.rename(told.with_name(f"{hook.TOLD}{since}"))

    def told(self) -> str:
        output = self.folder / "output.txt"
        return output.read_text() if output.exists() else ""

    def popen(self, *arguments: str, cwd: Path | None = None, **environment: str) -> Any:
        """The hook, started and waiting for its event; close it as a context manager."""
        return subprocess.Popen(
            [*self.prefix, PYTHON, "-IS", str(HOOK), *arguments],
            cwd=cwd or self.project,
            env={"PATH": os.environ["PATH"], "TASK_ID": self.task, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def fire(
        self,
        *arguments: str,
        given: bytes | None = None,
        cwd: Path | None = None,
        **environment: str,
    ) -> Answer:
        """Run the hook for one event to its end; a failed hook fails the test."""
        with self.popen(*arguments, cwd=cwd, **environment) as process:
            return finish(process, event() if given is None else given)


def finish(process: Any, given: bytes) -> Answer:
    said, log = process.communicate(given, timeout=60)
    assert process.returncode == 0, log
    return Answer(json.loads(said) if said else None, log.decode())
