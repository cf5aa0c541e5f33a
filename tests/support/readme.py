"""The daemon as README's "Run it" starts it: its own commands, in a home of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support import processes
from support.daemon import PROGRAM, Daemon

README = Path(__file__).parents[2] / "README.md"
INSTALLS = "-m venv"


def commands() -> str:
    """The commands of "Run it", without the line that installs the package."""
    section = README.read_text().partition("\n## Run it\n")[2]
    block = section.partition("```sh\n")[2].partition("```")[0]
    kept = [line for line in block.splitlines() if INSTALLS not in line]
    assert len(kept) == len(block.splitlines()) - 1
    return "\n".join(kept)


class ReadmeDaemon(Daemon):
    """A daemon that the commands start, whose subagents run `claude`; `further` is its environment.

    It gets a free port, and nothing else that the commands do not say.
    """

    def __init__(self, root: Path, claude: Path, **further: str) -> None:
        super().__init__(root)
        self.home = root / "home"
        self.state_dir = self.home / ".local" / "state" / "hive-subagent"
        self.runtime_dir = self.state_dir / "runtime"
        self.claude_dir = self.home / ".claude"
        self.work_dir = self.home / "src"
        for folder in (root / "bin", self.home / "hive" / "bin"):
            folder.mkdir(parents=True)
        (root / "bin" / "claude").symlink_to(claude)
        (self.home / "hive" / "bin" / PROGRAM.name).symlink_to(PROGRAM)
        self.environment = {
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
            "HIVE_SUBAGENT_PORT": "0",
            **further,
        }

    def spawn(self, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
        with self.log_file.open("ab") as log:
            return subprocess.Popen(
                ["sh", "-ec", commands()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.root,
                env=self.base_environment,
                umask=0o022,
            )

    def begin_serving(self) -> None:
        """Start it; calls carry the token."""
        self._pid = self.start()["pid"]
        token = (self.home / "hive" / "token").read_text().strip()
        self.headers = {"Authorization": f"Bearer {token}"}

    def stop(self) -> int:
        """SIGTERM to the daemon; returns the exit code of the commands."""
        assert self.process is not None
        os.kill(self._pid, signal.SIGTERM)
        return self.process.wait(processes.PATIENCE_S)
