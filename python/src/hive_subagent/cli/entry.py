"""The program `hive-subagent`.

The bridge lives as long as its client and is started with each: it goes its own way here, without
the imports that draw a command line, which are half of its memory.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Returns the exit code."""
    match sys.argv[1:]:
        case ["mcp"]:
            named = None
        case ["--socket", socket, "mcp"]:
            named = Path(socket)
        case _:
            from hive_subagent.cli.main import main as command_line

            return command_line()
    from hive_subagent.cli import bridge

    return bridge.main(named)


if __name__ == "__main__":
    sys.exit(main())
