"""Hooks from settings: a command with the event on its stdin, or an HTTP POST of the same."""

from __future__ import annotations

import json
import os
import signal
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import uuid4
from hive_subagent_stub.shell import end_group, select_one

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub

_DEFAULT_TIMEOUT_S = 600.0


class Ran:
    """What a command gave; `rc` is None after a timeout."""

    def __init__(self, rc: int | None, stdout: str, stderr: str) -> None:
        self.rc = rc
        self.stdout = stdout
        self.stderr = stderr


def answer(stub: Stub, hook: Json, event: Json, *, matched: str) -> Json | None:
    """Run one hook of settings; None where it says nothing that counts.

    A timeout, exit 1, a missing command and an HTTP error all let the turn go on silently.
    """
    timeout = float(hook.get("timeout") or _DEFAULT_TIMEOUT_S)
    if hook.get("type") == "http":
        return _post(stub, hook, event, timeout)
    name = str(event["hook_event_name"])
    shown = {
        "hook_id": uuid4(),
        "hook_name": f"{name}:{matched}" if matched else name,
        "hook_event": name,
    }
    if stub.options.hook_events:
        stub.out.emit(shapes.system(stub, "hook_started", **shown))
    ran = _run(stub, str(hook.get("command", "")), json.dumps(event).encode(), timeout)
    if stub.options.hook_events:
        stub.out.emit(
            shapes.system(
                stub,
                "hook_response",
                **shown,
                output=ran.stdout + ran.stderr,
                stdout=ran.stdout,
                stderr=ran.stderr,
                exit_code=ran.rc,
                outcome="success" if ran.rc == 0 else "error",
            )
        )
    if ran.rc == 2:
        return {"decision": "block", "reason": ran.stderr.strip()}
    return _parse(ran.stdout) if ran.rc == 0 else None


def _parse(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _run(stub: Stub, command: str, given: bytes, timeout_s: float) -> Ran:
    running = _Running(stub, command, given)
    until = time.monotonic() + timeout_s
    try:
        while not running.done() and time.monotonic() < until:
            # a full stdin is tried again soon: its reader may never come
            soon = min(until, time.monotonic() + 0.01) if running.given else until
            stub.wait(soon, [running.pidfd, *running.open])
    finally:
        running.close()
    texts = [bytes(data).decode("utf-8", "replace") for data in running.output]
    return Ran(running.rc, texts[0], texts[1])


class _Running:
    """A hook's shell: /bin/sh, in a session of its own."""

    def __init__(self, stub: Stub, command: str, given: bytes) -> None:
        child_in, self._in = os.pipe()
        pipes = [os.pipe(), os.pipe()]
        self.pid = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", command],
            _environment(stub),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, child_in, 0),
                (os.POSIX_SPAWN_DUP2, pipes[0][1], 1),
                (os.POSIX_SPAWN_DUP2, pipes[1][1], 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )
        for fd in (child_in, pipes[0][1], pipes[1][1]):
            os.close(fd)
        self.pidfd = os.pidfd_open(self.pid)
        self.given = given
        self.rc: int | None = None
        self.open = {pipes[0][0]: 0, pipes[1][0]: 1}  # descriptor: place in `output`
        self.output = (bytearray(), bytearray())
        for fd in (self._in, *self.open):
            os.set_blocking(fd, False)
        self._feed()

    def done(self) -> bool:
        """Move bytes both ways; True once the shell has ended."""
        self._feed()
        self._take()
        if self.rc is None and select_one(self.pidfd, 0):
            self.rc = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self._take()
        return self.rc is not None

    def close(self) -> None:
        """Give up the descriptors, and the shell if it still runs."""
        if self.rc is None:
            end_group(self.pid)
            os.waitpid(self.pid, 0)
        for fd in (*self.open, self.pidfd, *([self._in] if self._in >= 0 else [])):
            os.close(fd)

    def _feed(self) -> None:
        if self._in < 0:
            return
        try:
            self.given = self.given[os.write(self._in, self.given) :]
        except BlockingIOError:
            return
        except OSError:  # it does not read
            self.given = b""
        if not self.given:
            os.close(self._in)
            self._in = -1

    def _take(self) -> None:
        for fd, place in list(self.open.items()):
            while fd in self.open:
                try:
                    piece = os.read(fd, 65536)
                except BlockingIOError:
                    break
                if not piece:
                    del self.open[fd]
                    os.close(fd)
                self.output[place].extend(piece)


def _post(stub: Stub, hook: Json, event: Json, timeout_s: float) -> Json | None:
    from hive_subagent_stub.http import Unreachable, post
    from hive_subagent_stub.mcp_watch import TimedOut

    allowed = {name: os.environ.get(name, "") for name in hook.get("allowedEnvVars") or []}
    headers = {}
    for name, value in (hook.get("headers") or {}).items():
        text = str(value)
        for variable, content in allowed.items():
            text = text.replace(f"${{{variable}}}", content).replace(f"${variable}", content)
        headers[str(name)] = text
    try:
        until = time.monotonic() + timeout_s
        reply = post(stub, str(hook.get("url")), event, headers, until=until)
    except (Unreachable, TimedOut):
        return None
    return reply.message if reply.status < 300 else None


def _environment(stub: Stub) -> dict[str, str]:
    return {
        **os.environ,
        "CLAUDE_PROJECT_DIR": stub.session.cwd,
        "CLAUDE_CODE_SESSION_ID": stub.session.id,
        "CLAUDECODE": "1",
        "AI_AGENT": stub.version.agent.replace("_agent", "_harness"),
    }
