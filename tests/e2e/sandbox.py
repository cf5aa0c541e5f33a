"""A world of its own for the real CLI: home, configuration, and an environment with no way out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from support.programs import BASH

# What keeps the CLI quiet is not on the daemon's allow-list; these go through `child_env`.
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
}


@dataclass(frozen=True)
class Sandbox:
    """Directories below one root that the CLI may write to; `dir` is where a session works."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def config(self) -> Path:
        return self.root / "claude"

    @property
    def dir(self) -> Path:
        return self.root / "work"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    def create(self) -> Sandbox:
        for path in (self.home, self.config, self.dir, self.tmp):
            path.mkdir(parents=True, exist_ok=True)
        return self

    def environment(self, api_url: str, **more: str) -> dict[str, str]:
        """Everything the daemon gets; nothing of ours is inherited but PATH.

        A proxy that nobody serves takes whatever strays, so that it fails instead of leaving. What
        is for loopback goes there too unless the daemon excludes it for its children.
        """
        nowhere = "http://127.0.0.1:9"
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "SHELL": BASH,
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_BASE_URL": api_url,
            "ANTHROPIC_API_KEY": "not-a-key",
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),
            **QUIET,
            **more,
        }

    def alone(self, api_url: str, **more: str) -> dict[str, str]:
        """Everything a CLI gets that is started without the daemon."""
        return self.environment(api_url, NO_PROXY="127.0.0.1,localhost", **more)
