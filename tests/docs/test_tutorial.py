"""The tutorials, command for command, in the terminals that they name (issue 12, 11)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from docs.pages import Block, blocks, steps
from docs.reader import Reader

FROM_CLAUDE = "docs/tutorial/from-claude-code.md"


def test_the_first_subagent_goes_as_the_tutorial_shows(tmp_path: Path) -> None:
    """Issue 12, 11: step 3 broke in the second terminal that it asked for."""
    reader = Reader.below(tmp_path)
    reader.follow("docs/tutorial/first-subagent.md")
    assert list(reader.home.iterdir()) == []


def test_the_daemon_serves_the_readers_own_claude_code(tmp_path: Path) -> None:
    """The stand-in plays both, with a script for the first prompt, which comes with `-p`."""
    script = tmp_path / "script.json"
    done = tmp_path / "done"
    name = {"name": "count", "prompt": 'How many? [[STUB {"steps": [{"text": "0"}]}]]'}
    turn = [
        {"mcp": "subagent/start", "args": name},
        {"mcp": "subagent/wait", "args": {"names": ["count"]}},
        {"text": "It answered 0."},
    ]
    script.write_text(json.dumps({"steps": turn}))
    reader = Reader.below(tmp_path, HIVE_SUBAGENT_STUB_SCRIPT=str(script))
    stream = f"claude -p --verbose --output-format stream-json >'{done}' --mcp-config"
    reader.changes["claude --mcp-config"] = f"echo go | {stream}"
    reader.follow(FROM_CLAUDE)
    shown = next(b.text for b in blocks(FROM_CLAUDE, "text"))
    assert json.dumps(shown.strip())[1:-1] in done.read_text()
    for removed in ("hive", "src", ".local/state/hive-subagent"):
        assert not (reader.home / removed).exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl")
def test_a_page_of_a_running_daemon_works_beside_the_tutorials(tmp_path: Path) -> None:
    """`watch` and `upgrade` look at the daemon of the first tutorial while its run is going on."""
    reader = Reader.below(tmp_path)
    tutorial = [s for s in steps("docs/tutorial/first-subagent.md") if s.terminal != ""]
    asks = next(
        at for at, s in enumerate(tutorial) if isinstance(s, Block) and "hive-subagent ps" in s.text
    )
    with reader.reading() as do:
        do(tutorial[1 : asks + 1])
        do(steps("docs/how-to/watch.md"))
        do(steps("docs/how-to/upgrade.md"))
