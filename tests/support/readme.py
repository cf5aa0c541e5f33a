"""The daemon as README's "Run it" starts it: its own commands, in a home of its own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from support import processes, programs
from support.daemon import PROGRAM, Daemon

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
OVER_HTTP = ROOT / "docs" / "reference" / "http.md"
INSTALL = "~/hive/bin/pip install ./python"
INSTALL_S = 120.0
ADDRESS = "http://127.0.0.1:8717/"


def blocks() -> list[list[str]]:
    """The lines of each block of "Run it" that is for `sh`."""
    section = README.read_text().partition("\n## Run it\n")[2].partition("\n## ")[0]
    return [part.partition("```")[0].splitlines() for part in section.split("```sh\n")[1:]]


def serving() -> str:
    """The commands that install and start the daemon.

    One of them is replaced: `pip install` would fetch the dependencies from an index. In its place
    come links to the programs of the environment that runs the tests, which `make setup` installed
    with the same pip from the same folder.
    """
    commands = "\n".join(blocks()[0])
    assert commands.count(INSTALL) == 1
    installed = shlex.join([str(PROGRAM), str(programs.ours("hive-subagent"))])
    return commands.replace(INSTALL, f"ln -s {installed} ~/hive/bin/")


def owning(*arguments: str) -> str:
    """The commands that connect the agent's Claude Code to the daemon, and run it.

    `claude` gets the arguments, since without a terminal it needs `-p`.
    """
    return _with(arguments, "\n".join(blocks()[1]))


def owning_over_http(url: str, *arguments: str) -> str:
    """The same over HTTP.

    The port is another one, since daemons of several tests run side by side.
    """
    section = OVER_HTTP.read_text().partition("\n## Claude Code over HTTP\n")[2]
    lines = section.partition("```sh\n")[2].partition("\n```")[0]
    assert lines.count(ADDRESS) == 1
    return _with(arguments, lines.replace(ADDRESS, f"{url}/"))


def _with(arguments: Sequence[str], commands: str) -> str:
    assert commands.endswith("claude --allowedTools mcp__subagent")
    return f"{commands} {shlex.join(arguments)}"


class ReadmeDaemon(Daemon):
    """A daemon that the commands start, whose subagents run `claude`.

    `environment` is all that its shell has besides HOME and a PATH on which `claude` is. It gets a
    free port, and nothing else that the commands do not say.
    """

    def __init__(self, root: Path, claude: Path, **environment: str) -> None:
        super().__init__(root)
        self.home = root / "home"
        self.state_dir = self.home / ".local" / "state" / "hive-subagent"
        self.runtime_dir = self.home / "hive" / "run"
        self.claude_dir = self.home / ".claude"
        self.work_dir = self.home / "src"
        program = root / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        if not program.exists():
            program.symlink_to(claude)
        self.environment = environment

    @property
    def base_environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            # as root claude refuses to skip permissions without it
            **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),
            **self.environment,
        }

    def spawn(self, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-ec", serving()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=README.parent,
                env={"HIVE_SUBAGENT_PORT": "0", **self.base_environment},
                umask=0o022,
            )
        # `python3 -m venv` costs seconds of CPU
        deadline = time.monotonic() + INSTALL_S
        while not (self.home / "hive" / "config.json").exists():
            assert process.poll() is None, self.log
            assert time.monotonic() < deadline, f"not installed after {INSTALL_S:.0f} s: {self.log}"
            time.sleep(0.05)
        return process

    def begin_serving(self) -> None:
        """Start it; calls carry the token."""
        self._pid = self.start()["pid"]
        self.headers = {"Authorization": f"Bearer {self.token}"}

    @property
    def token(self) -> str:
        """The owner's token."""
        return (self.home / "hive" / "token").read_text().strip()

    def own(self, prompt: str, commands: str) -> subprocess.CompletedProcess[str]:
        """Run commands that end in the agent's Claude Code, which gets a prompt on its stdin."""
        return subprocess.run(
            ["sh", "-ec", commands],
            input=prompt,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work_dir,
            env=self.base_environment,
            timeout=120,
        )

    def stop(self) -> int:
        """SIGTERM to the daemon; returns the exit code of the commands."""
        assert self.process is not None
        os.kill(self._pid, signal.SIGTERM)
        return self.process.wait(processes.PATIENCE_S)
