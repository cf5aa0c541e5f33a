"""Whom a channel belongs to: a subagent with a user of its own cannot write it, another can."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.stub import Step, bash, script

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def public() -> Iterator[Daemon]:
    """A daemon in a folder that everybody may enter."""
    root = Path(tempfile.mkdtemp(prefix="hive-public-"))
    root.chmod(0o755)
    made = Daemon(root)
    try:
        made.start()
        yield made
        assert made.stop() == 0
    finally:
        if made.process is not None:
            made.process.kill()
        shutil.rmtree(root)


def channel(daemon: Daemon, name: str) -> Path:
    return daemon.runtime_dir / "channels" / name


def writes(file: Path, *, prefix: tuple[str, ...] = ()) -> Step:
    """A shell tool that tries to."""
    return bash(shlex.join([*prefix, "sh", "-c", f"echo mine > {file}"]))


async def test_a_subagent_of_the_same_user_can_write_its_channel(daemon: Daemon) -> None:
    """It is not told where that is; but this is no wall, and the documentation says so."""
    name = daemon.name()
    file = channel(daemon, name) / "_intervene.txt"
    session = await daemon.run(script(writes(file), bash("true"), {"echo_seen": True}), name)
    assert "[PARENT INTERVENTION] mine" in session["result"]


@as_root
@pytest.mark.parametrize("file", ["_stop.txt", "_keyinfo.txt", "_intervene.txt", "output.txt"])
async def test_a_subagent_with_another_user_is_refused_by_permissions(
    public: Daemon, file: str
) -> None:
    name = public.name()
    tries = writes(channel(public, name) / file, prefix=AS_NOBODY)
    session = await public.run(script(tries, bash("true"), {"echo_seen": True}), name)
    assert session["stop_reason"] == "turn_ended"
    assert "PARENT" not in session["result"]
    output = (channel(public, name) / "output.txt").read_text()
    assert "tool closes: with an error" in output
    assert "owner:" not in output
    assert "mine\n" not in output


@as_root
def test_another_user_cannot_enter_what_a_channel_lies_in(public: Daemon) -> None:
    def can(flag: str, path: Path) -> bool:
        return subprocess.run([*AS_NOBODY, "test", flag, path], check=False).returncode == 0

    assert can("-r", public.root / "config.json")
    assert not can("-x", public.runtime_dir)
