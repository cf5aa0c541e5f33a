"""A world of its own for the real CLI: a fresh home of a logged-in user, and no way out.

What is set, and why each of it has to be:

- PATH, HOME: every process has them; HOME is fresh, nobody's own is read or written;
- TMPDIR: keeps what the CLI writes below /tmp apart, so that it can be removed;
- ANTHROPIC_BASE_URL: the scripted API in place of the real one;
- HTTP_PROXY, HTTPS_PROXY: everything else would leave the machine, and fails there instead;
- IS_SANDBOX, as root only: the CLI refuses to skip permissions as root without it.

CLAUDE_CONFIG_DIR, an API key, NO_PROXY, the locale and every switch of the CLI are not set.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

NOWHERE = "http://127.0.0.1:9"
"""A proxy that nobody serves."""

API_KEY = "sk-ant-api03-not-a-key"
LOGIN = {"primaryApiKey": API_KEY}
"""What `~/.claude.json` holds once a user has logged in with a Console account."""

FEW_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "2"}
"""For tests of lasting errors of the API: by default the CLI tries for about three minutes."""


def log_in(home: Path) -> None:
    """Make the home that of a logged-in user."""
    file = home / ".claude.json"
    file.touch(0o600)
    file.write_text(json.dumps(LOGIN))


@dataclass(frozen=True)
class Sandbox:
    """Directories below one root that the CLI may write to; `dir` is where a session works."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def dir(self) -> Path:
        return self.root / "work"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    def create(self, claude: Path) -> Sandbox:
        """Make them; `claude` is what that name means there."""
        for path in (self.config, self.bin, self.dir, self.tmp):
            path.mkdir(parents=True, exist_ok=True)
        log_in(self.home)
        (self.bin / "claude").symlink_to(claude)
        return self

    def environment(self, api_url: str, **more: str) -> dict[str, str]:
        """Everything the daemon gets; nothing of ours is inherited but PATH."""
        return {
            "PATH": f"{self.bin}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "ANTHROPIC_BASE_URL": api_url,
            # what is for loopback goes there too unless the daemon excludes it for its children
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),
            **more,
        }

    def alone(self, api_url: str, **more: str) -> dict[str, str]:
        """Everything a CLI gets that is started without the daemon."""
        return self.environment(api_url, NO_PROXY="127.0.0.1,localhost", **more)
