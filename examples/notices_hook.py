#!/usr/bin/env python3
"""A hook of Claude Code that tells the agent of new notices; needs Python alone.

    notices_hook.py FOLDER

FOLDER is that of a sink `dir:FOLDER` of the daemon. Notices are shown once, and then moved to
FOLDER/seen. The hook exits with 0 whatever happens, so it never holds up the agent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def take(folder: Path) -> list[str]:
    """The texts of the notices in a folder, oldest first; each is moved to `seen`."""
    seen = folder / "seen"
    found: list[tuple[str, str]] = []
    for file in folder.glob("*.json"):
        notice: dict[str, Any] = json.loads(file.read_text())
        if "event" in notice:  # of a sink with ?events=1
            continue
        seen.mkdir(mode=0o700, exist_ok=True)
        file.rename(seen / file.name)  # before it is shown: two hooks at once show it once
        found.append((notice["at"], f"[{notice['kind']}] {notice['text']}"))
    return [text for _, text in sorted(found)]


def main() -> None:
    """Read the event, answer with the notices as additional context."""
    event = json.load(sys.stdin)
    texts = take(Path(sys.argv[1]))
    if texts:
        answer = {
            "hookEventName": event["hook_event_name"],
            "additionalContext": "Subagents have ended:\n\n" + "\n\n".join(texts),
        }
        sys.stdout.write(json.dumps({"hookSpecificOutput": answer}) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, KeyError, IndexError) as error:
        sys.stderr.write(f"notices_hook.py: {error}\n")
