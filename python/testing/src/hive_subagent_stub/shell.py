"""The Bash tool: a real shell in a session of its own, out of reach of a kill of our group."""

from __future__ import annotations

import os
import select
import signal

from hive_subagent_stub._types import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_subagent_stub.stub import Stub

STUBBORN_S = 1.4  # measured: what ignores the first signal is killed about then


def program() -> str:
    """The shell; /bin/bash where there is one."""
    if os.path.exists("/bin/bash"):
        return "/bin/bash"
    for folder in os.environ.get("PATH", "").split(":"):
        if os.access(os.path.join(folder, "bash"), os.X_OK):
            return os.path.join(folder, "bash")
    return "/bin/sh"


def environment(stub: Stub) -> dict[str, str]:
    """What a tool's process inherits: all of ours and the CLI's own names."""
    return {
        **os.environ,
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": stub.session.id,
        "CLAUDE_CODE_ENTRYPOINT": os.environ.get("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        "CLAUDE_CODE_EXECPATH": os.path.realpath("/proc/self/exe"),
        "AI_AGENT": stub.version.agent,
        "CLAUDE_EFFORT": stub.options.effort or "medium",
        "GIT_EDITOR": "true",
        "SHELL": program(),
        "COREPACK_ENABLE_AUTO_PIN": "0",
        "NoDefaultCurrentDirectoryInExePath": "1",
    }


class Shell:
    """A started command: `pid` (also pgid and sid), `pidfd`, and the pipe of its output."""

    def __init__(self, stub: Stub, command: str) -> None:
        shell = program()
        self.pipe, write_end = os.pipe()
        os.set_blocking(self.pipe, False)
        self.pid = os.posix_spawn(
            shell,
            [shell, "-c", command],
            environment(stub),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, write_end, 1),
                (os.POSIX_SPAWN_DUP2, write_end, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )
        os.close(write_end)
        self.pidfd = os.pidfd_open(self.pid)
        self._output = bytearray()
        self._open = True
        self.rc: int | None = None

    @property
    def fds(self) -> list[int]:
        """What to wait for."""
        return [self.pidfd, self.pipe] if self._open else [self.pidfd]

    @property
    def output(self) -> str:
        """What it printed so far, stdout and stderr in one, the last newlines cut."""
        return self._output.decode("utf-8", "replace").rstrip("\n")

    def read(self) -> None:
        """Take the output that is there."""
        while self._open:
            try:
                data = os.read(self.pipe, 65536)
            except BlockingIOError:
                return
            if not data:
                self._open = False
                os.close(self.pipe)
                return
            self._output += data

    def reap(self) -> bool:
        """Whether the shell itself has ended; sets `rc` (negative: by that signal)."""
        self.read()
        if self.rc is None and select_one(self.pidfd, 0):
            _, status = os.waitpid(self.pid, 0)
            self.rc = os.waitstatus_to_exitcode(status)
            self.read()
            os.close(self.pidfd)
            if self._open:
                self._open = False
                os.close(self.pipe)
        return self.rc is not None


def select_one(fd: int, seconds: float) -> bool:
    """Whether `fd` becomes readable within so many seconds."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def end_group(pid: int) -> None:
    """SIGTERM to the group, SIGKILL to what is stubborn; waits for the leader."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        os.killpg(pid, signal.SIGTERM)
        select_one(fd, STUBBORN_S)
        os.killpg(pid, signal.SIGKILL)
        select_one(fd, 1)
    except OSError:
        pass
    os.close(fd)
