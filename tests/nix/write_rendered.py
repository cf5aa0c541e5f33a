"""Write what the module renders: `{agent: {file: text}}` on stdin, one folder per agent."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path


def main(target: Path) -> None:
    """Replace `target` as a whole, so that nothing stays behind of an agent that is gone."""
    rendered: dict[str, dict[str, str]] = json.load(sys.stdin)
    shutil.rmtree(target, ignore_errors=True)
    for agent, files in rendered.items():
        for name, text in files.items():
            file = target / agent / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


main(Path(sys.argv[1]))
