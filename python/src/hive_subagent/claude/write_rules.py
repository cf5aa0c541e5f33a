"""Whether a session's permission, or claude's own settings, keep it from writing some files.

The daemon then writes no file that a subagent named: it cannot tell which files a rule is about as
claude does, and must not write what the subagent may not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hive_subagent.permissions import Permissions
from hive_subagent.system.operator_input import read_given

MANAGED = Path("/etc/claude-code/managed-settings.json")
"""The administrator's settings, which hold whatever `--setting-sources` says."""

WRITERS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""Claude's tools that write files."""


def is_about_writing(rule: str) -> bool:
    """Whether a rule such as `Edit(~/.bashrc)` is about a tool that writes files."""
    return rule.partition("(")[0].strip() in WRITERS


def writes_anywhere(permissions: Permissions) -> bool:
    """Whether nothing but its user keeps a session from writing into a file of its choice."""
    return (
        permissions.mode == "bypassPermissions"
        and not any(is_about_writing(rule) for rule in permissions.denied)
        and (permissions.tools is None or not permissions.tools.isdisjoint({"Bash", "Write"}))
    )


def has_write_rule(
    config_dir: Path, directory: Path, sources: str | None, *, managed: Path = MANAGED
) -> bool:
    """Whether a rule of `deny` or `ask` on Write or Edit holds for a session in `directory`.

    `sources` is the value of `--setting-sources`, None for claude's default, which is all of them.
    A settings file that cannot be read or understood counts as one with such a rule.
    """
    files = {
        "user": config_dir / "settings.json",
        "project": directory / ".claude" / "settings.json",
        "local": directory / ".claude" / "settings.local.json",
    }
    named = files if sources is None else {s.strip() for s in sources.split(",")}
    return any(_holds_one(file) for file in (managed, *(files[s] for s in files if s in named)))


def _holds_one(file: Path) -> bool:
    try:
        settings = json.loads(read_given(file))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return True
    permissions: Any = settings.get("permissions", {}) if isinstance(settings, dict) else None
    if not isinstance(permissions, dict):
        return True
    rules = [permissions.get(key, []) for key in ("deny", "ask")]
    return any(
        not isinstance(listed, list)
        or any(not isinstance(rule, str) or is_about_writing(rule) for rule in listed)
        for listed in rules
    )
