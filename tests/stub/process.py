"""Drives the stand-in as a real process."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import programs

Json = dict[str, Any]

PROGRAM = str(programs.ours("hive-subagent-stub-claude"))
TIMEOUT_S = 20.0
STREAM = ["-p", "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"]
BOTH_WAYS = [*STREAM, "--input-format", "stream-json"]


def eventually(holds: Callable[[], object]) -> None:
    """Wait until something in the world holds that nobody announces; fails after TIMEOUT_S."""
    until = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.005)


def directive(*steps: Json, **further: Any) -> str:
    """A prompt that carries its script."""
    return f"[[STUB {json.dumps({'steps': list(steps), **further})}]] go"


class Home:
    """One CLAUDE_CONFIG_DIR and one working directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config"
        self.work = root / "work"
        self.work.mkdir()
        self._started: list[Claude] = []

    def environment(self, version: str | None = None, **further: str) -> dict[str, str]:
        """Nothing of ours but PATH and HOME."""
        base = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "IS_SANDBOX": "1",
        }
        if version:
            base["HIVE_SUBAGENT_STUB_VERSION"] = version
        return {**base, **further}

    def start(
        self,
        *arguments: str,
        version: str | None = None,
        cwd: Path | None = None,
        stdout: int = subprocess.PIPE,
        **further: str,
    ) -> Claude:
        """Start it with these arguments; stdin and stderr are pipes."""
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=cwd or self.work,
            env=self.environment(version, **further),
        )
        claude = Claude(process)
        self._started.append(claude)
        return claude

    def say(self, text: str, *arguments: str, version: str | None = None, **further: Any) -> Claude:
        """A whole run in text mode: the prompt on stdin, then its end."""
        claude = self.start(*(arguments or STREAM), version=version, **further)
        claude.write(text.encode())
        claude.close_stdin()
        return claude

    def transcripts(self) -> list[Path]:
        """Every session on disk."""
        return sorted(self.config.glob("projects/*/*.jsonl"))

    def close(self) -> None:
        """Nothing of a test outlives it."""
        for claude in self._started:
            claude.kill()
        sweep(str(self.root))
        shutil.rmtree(self.root, ignore_errors=True)


class Claude:
    """A running stand-in."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.pid = process.pid
        self.raw: list[bytes] = []
        self.seen: list[Json] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._stderr: list[bytes] = []
        self._threads = [threading.Thread(target=self._read_stderr, daemon=True)]
        if process.stdout is not None:
            self._threads.append(threading.Thread(target=self._read_stdout, daemon=True))
        for thread in self._threads:
            thread.start()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._stderr.append(line)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message: Json) -> None:
        """One JSON line."""
        self.write(json.dumps(message).encode() + b"\n")

    def user(self, text: str, **further: Any) -> None:
        """A user message."""
        self.send({"type": "user", "message": {"role": "user", "content": text}, **further})

    def control(self, request_id: str, subtype: str, **body: Any) -> None:
        """A control request."""
        request = {"subtype": subtype, **body}
        self.send({"type": "control_request", "request_id": request_id, "request": request})

    def answer(self, request_id: str, response: Json) -> None:
        """The answer to one of its own requests."""
        inner = {"subtype": "success", "request_id": request_id, "response": response}
        self.send({"type": "control_response", "response": inner})

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def next(self) -> Json | None:
        """The next line as JSON, None at the end. Fails after TIMEOUT_S."""
        raw = self._lines.get(timeout=TIMEOUT_S)
        if raw is None:
            return None
        self.raw.append(raw)
        value: Json = json.loads(raw)
        self.seen.append(value)
        return value

    def until(self, wanted: Callable[[Json], bool]) -> Json:
        """Read up to the first line that is wanted."""
        while (line := self.next()) is not None:
            if wanted(line):
                return line
        raise AssertionError(f"stdout ended; stderr: {self.stderr}")

    def until_type(self, kind: str, subtype: str | None = None) -> Json:
        """Read up to the next line of this type (and subtype)."""
        return self.until(
            lambda line: line["type"] == kind and subtype in (None, line.get("subtype"))
        )

    def result(self) -> Json:
        """Read up to the next result line."""
        return self.until_type("result")

    def rest(self) -> list[Json]:
        """Everything to the end."""
        lines = []
        while (line := self.next()) is not None:
            lines.append(line)
        return lines

    def rest_raw(self) -> bytes:
        """Every byte to the end, torn lines too."""
        data = b""
        while (raw := self._lines.get(timeout=TIMEOUT_S)) is not None:
            data += raw
        return data

    def rc(self) -> int:
        """Wait for the exit; negative: died by that signal."""
        return self.process.wait(timeout=TIMEOUT_S)

    @property
    def stderr(self) -> str:
        """All of stderr; waits for its end."""
        self._threads[0].join(timeout=TIMEOUT_S)
        return b"".join(self._stderr).decode()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=TIMEOUT_S)
        self.close_stdin()
        for thread in self._threads:
            thread.join(timeout=0.5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None and not any(t.is_alive() for t in self._threads):
                stream.close()


def children_of(marker: str) -> list[int]:
    """Live processes that carry `marker` in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            environment = Path(f"/proc/{entry}/environ").read_bytes()
            state = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in environment and state != "Z":
            found.append(int(entry))
    return found


def sweep(marker: str) -> None:
    """End what a test left behind."""
    for pid in children_of(marker):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
