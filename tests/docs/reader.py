"""A reader of the pages: a home, an environment, and a port that is free."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from support import programs

from docs.pages import ROOT, steps
from docs.terminal import play, terminals

PORT = "8717"
"""The port in the pages, which is the default."""


@dataclass
class Reader:
    """Someone with a fresh home who follows pages; `changes` are made to what they read."""

    root: Path
    changes: dict[str, str]

    @classmethod
    def below(cls, root: Path, **changes: str) -> Reader:
        """A reader whose home is `root`/home."""
        (root / "home").mkdir()
        (root / "typed").mkdir()
        given = {PORT: str(unused_port()), **changes}
        if not (ROOT / ".venv").exists():
            # in a Nix build the programs are on PATH, and nothing can be installed
            given["make demo"] = "hive-subagent-demo"
        return cls(root, given)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        """What a login shell has, with our programs where `make setup` or a package puts them."""
        ours = programs.ours("hive-subagent-daemon").parent
        return {
            "PATH": f"{ours}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
        }

    def change(self, text: str) -> str:
        """What is read, fitted to this machine."""
        for old, new in self.changes.items():
            text = text.replace(old, new)
        return text

    def follow(self, page: str, folder: Path = ROOT) -> None:
        """Do all that a page says; its first terminal begins in `folder`."""
        todo = steps(page)
        with terminals(self.root / "typed", self.home, self.environment) as terminal:
            terminal(todo[0].terminal).run(f"cd '{folder}'")
            play(todo, terminal, self.change)


def unused_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
