"""A daemon that is to end at once, within this very process: a second less for each."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hive_subagent import daemon as program


def run(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str,
    **settings: Any,
) -> tuple[int, str]:
    """The exit code of a daemon that cannot run, and the last line it said."""
    config = root / "config.json"
    given = {"port": 0, "state_dir": str(root / "state"), "runtime_dir": str(root / "run")}
    config.write_text(json.dumps({**given, **settings}))
    # a daemon that runs after all does so in here, and not for long
    for variable in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(root / "default"))
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    signal.alarm(30)
    monkeypatch.setattr(sys, "argv", ["hive-subagent-daemon", "--config", str(config), *arguments])
    try:
        code = program.main()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    finally:
        signal.alarm(0)
    said = capsys.readouterr().err
    assert said.endswith("\n")
    lines = [line for line in said.splitlines() if not line.startswith(("INFO ", "WARNING "))]
    assert len(lines) == 1, said
    return code, lines[0]
