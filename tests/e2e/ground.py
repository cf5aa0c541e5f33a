"""A place in which whatever is written leaves a trace, and every way to write to it."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.extra_mcp import Extra
from e2e.script import Step, bash, use
from e2e.world import World

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "source": ["1"],
            "outputs": [],
            "execution_count": None,
        }
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


class Ground:
    """A directory in which everything that is written leaves a trace."""

    def __init__(self, world: World) -> None:
        self.dir = world.sandbox.dir
        self.outside = world.sandbox.root / "outside"
        self.outside.mkdir()
        (self.outside / "far.txt").write_text("FAR\n")
        (self.dir / "near.txt").write_text("NEAR\n")
        (self.dir / "notes.ipynb").write_text(json.dumps(NOTEBOOK))
        settings = {
            "permissions": {
                "defaultMode": "bypassPermissions",
                "allow": ["Bash", "Write", "Edit", "NotebookEdit", "mcp__shared"],
            },
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": f"touch {self.dir}/hooked"}]}]
                for event in ("SessionStart", "UserPromptSubmit", "PostToolUse")
            },
        }
        (self.dir / ".claude").mkdir()
        (self.dir / ".claude" / "settings.json").write_text(json.dumps(settings))
        (self.dir / ".mcp.json").write_text(
            json.dumps({"mcpServers": {"own": {"command": "touch", "args": ["served"]}}})
        )
        self._before = self.content()

    def content(self) -> dict[str, bytes]:
        """Every file with what it holds."""
        roots = (self.dir, self.outside)
        return {str(f): f.read_bytes() for root in roots for f in root.rglob("*") if f.is_file()}

    @property
    def changed(self) -> set[str]:
        """The names of the files that were written, made or removed."""
        now = self.content()
        return {
            Path(path).name
            for path in {*now, *self._before}
            if now.get(path) != self._before.get(path)
        }

    def attempts(self) -> list[Step]:
        """One call for each way to write, the files read first that have to be."""
        return [
            use("Read", file_path=str(self.dir / "near.txt")),
            use("Write", file_path=str(self.dir / "new.txt"), content="x"),
            use("Write", file_path=str(self.outside / "new.txt"), content="x"),
            use("Edit", file_path=str(self.dir / "near.txt"), old_string="NEAR", new_string="x"),
            bash("echo x > redirected.txt"),
            bash("echo x >> near.txt"),
            bash("cp near.txt copied.txt"),
            bash("mkdir made && touch made/x"),
            bash("perl -e 'open(F, \">perl.txt\")'"),
            use("Read", file_path=str(self.dir / "notes.ipynb")),
            use(
                "NotebookEdit",
                notebook_path=str(self.dir / "notes.ipynb"),
                cell_id="a",
                new_source="EDITED",
            ),
            use("mcp__shared__tell", words="written"),
            use("mcp__own__anything"),
            use("Agent", description="x", prompt="write", subagent_type="general-purpose"),
            use("Task", description="x", prompt="write", subagent_type="general-purpose"),
            use("ExitPlanMode", plan="write it all"),
            bash("echo x > redirected.txt", dangerouslyDisableSandbox=True),
        ]


def share(world: World, extra: Extra) -> None:
    """Opt a server in, with every tool approved."""
    shared = {"type": "http", "url": extra.url, "availableToSubagents": True}
    file = world.sandbox.root / "servers.json"
    file.write_text(json.dumps({"shared": shared}))
    world.settings = {**world.settings, "mcp_servers_file": str(file)}
