"""A reader of the pages: a home, an environment, and a port that is free."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support import programs

from docs.pages import ROOT, Step, steps
from docs.terminal import play, terminals

PORT = "8717"
"""The port in the pages, which is the default."""


INSTALL = "~/hive/bin/pip install ./python"


@dataclass
class Reader:
    """Someone with a fresh home who follows pages; `changes` are made to what they read."""

    root: Path
    changes: dict[str, str]
    further: dict[str, str] = field(default_factory=dict)

    @classmethod
    def below(cls, root: Path, **environment: str) -> Reader:
        """A reader whose home is `root`/home, with `environment` beside the usual one."""
        for folder in ("home", "typed", "bin"):
            (root / folder).mkdir()
        changes = {PORT: str(unused_port())}
        # pip would fetch the dependencies from an index
        installed = [str(programs.ours(name)) for name in ("hive-subagent-daemon", "hive-subagent")]
        changes[INSTALL] = f"ln -s {shlex.join(installed)} ~/hive/bin/"
        if not (ROOT / ".venv").exists():
            # in a Nix build the programs are on PATH, and nothing can be installed
            changes["make demo"] = "hive-subagent-demo"
        return cls(root, changes, environment)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        """What a login shell has, with our programs where `make setup` or a package puts them.

        `claude` is the stand-in.
        """
        claude = self.root / "bin" / "claude"
        if not claude.exists():
            claude.symlink_to(programs.ours("hive-subagent-stub-claude"))
        ours = programs.ours("hive-subagent-daemon").parent
        return {
            "PATH": f"{claude.parent}:{ours}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            # where a page's configuration names no port, it means the default
            "HIVE_SUBAGENT_PORT": self.changes[PORT],
            # claude refuses to skip permissions as root without it
            **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),
            **self.further,
        }

    def change(self, text: str) -> str:
        """What is read, fitted to this machine."""
        for old, new in self.changes.items():
            text = text.replace(old, new)
        return text

    @contextmanager
    def reading(self, folder: Path = ROOT) -> Iterator[Callable[[Sequence[Step]], None]]:
        """A function that does steps of pages; terminals begin in `folder` and stay open."""
        with terminals(self.root / "typed", folder, self.environment) as terminal:
            yield lambda steps: play(steps, terminal, self.change)

    def follow(self, page: str) -> None:
        """Do all that a page says."""
        with self.reading() as do:
            do(steps(page))


def unused_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
