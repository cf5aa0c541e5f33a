"""`/api/v1/doctor`: each thing that can be wrong is named with what to do (issue 13, 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import api
from support.daemon import Daemon
from support.stub import script, text


def checks(daemon: Daemon) -> dict[str, dict[str, Any]]:
    found = api.client(daemon.runtime_dir).get("/doctor")
    assert found["ok"] is all(one["ok"] for one in found["checks"])
    for one in found["checks"]:
        assert one["detail"]
        assert (one["fix"] is None) is one["ok"], one
    return {one["check"]: one for one in found["checks"]}


def test_what_is_right_is_told_with_its_figures(world: Daemon) -> None:
    """Issue 13, 1."""
    world.environment["ANTHROPIC_API_KEY"] = "sk-secret"
    world.start()
    found = checks(world)
    for name in (
        "claude",
        "claude_version",
        "claude_login",
        "state_dir",
        "runtime_dir",
        "work_dir",
    ):
        assert found[name]["ok"], found[name]
    assert found["claude_version"]["detail"] == "2.1.332"
    assert found["claude_login"]["detail"] == "by ANTHROPIC_API_KEY"
    assert found[f"sink dir:{world.state_dir}/todos"]["ok"]
    assert "MiB free" in found["state_dir_space"]["detail"]
    form = found["containment"]
    assert form["detail"].startswith("a cgroup for each run") == form["ok"]
    assert "sk-secret" not in str(found)


def test_a_claude_that_is_missing_or_another_one(world: Daemon) -> None:
    """Issue 13, 1."""
    world.settings["claude_bin"] = "no-such-claude"
    world.start()
    found = checks(world)["claude"]
    assert (found["ok"], "no-such-claude" in found["detail"]) == (False, True)
    assert world.stop() == 0
    other = world.root / "other-claude"
    other.write_text("#!/bin/sh\necho 9.9.9 '(Claude Code)'\n")
    other.chmod(0o755)
    world.settings["claude_bin"] = str(other)
    world.start()
    found = checks(world)["claude_version"]
    assert (found["ok"], "9.9.9" in found["detail"]) == (False, True)
    assert world.stop() == 0
    other.write_text("#!/bin/sh\nexit 1\n")
    world.start()
    assert "does not print its version" in checks(world)["claude_version"]["detail"]


async def test_a_sink_that_is_not_there_and_what_waits_for_it(world: Daemon) -> None:
    """Issue 13, 1."""
    sink = world.root / "sink.sock"
    world.settings["todo_sinks"] = [f"unix:{sink}"]
    world.start()
    found = checks(world)[f"sink unix:{sink}"]
    assert found["detail"] == f"{sink} is no socket; 0 notices wait"
    await world.run(script(text("done")))
    found = checks(world)[f"sink unix:{sink}"]
    assert (found["ok"], found["detail"].endswith("; 1 notices wait")) == (False, True)
    assert "todo_sinks" in found["fix"]


def test_no_sink_at_all_no_login_and_directories_open_to_others(world: Daemon) -> None:
    """Issue 13, 1."""
    world.settings["todo_sinks"] = []
    world.start()
    world.state_dir.chmod(0o755)
    Path(world.work_dir).rmdir()
    found = checks(world)
    assert found["state_dir"]["fix"] == f"chmod 700 {world.state_dir}"
    for name in ("sinks", "claude_login", "state_dir", "work_dir"):
        assert not found[name]["ok"], name
