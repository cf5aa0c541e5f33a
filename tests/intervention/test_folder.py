"""A channel whose folder goes, comes back, is another one, or is not watched by the kernel."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import processes
from support.batches import batch_of_events
from support.daemon import Daemon
from support.stub import script

from hive_subagent.intervention.channel import Channel
from hive_subagent.system import inotify
from intervention.parent import Collected

# the kernel gives none to whoever lives in there
UNWATCHED = (
    *("unshare", "-Ur", "sh", "-c"),
    'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"',
    "sh",
)


def has_user_namespaces() -> bool:
    try:
        return (
            subprocess.run([*UNWATCHED, "true"], capture_output=True, check=False).returncode == 0
        )
    except FileNotFoundError:
        return False


def steps(gate: Path) -> str:
    """A turn that waits for its gate and then has one more step."""
    first = {"tool": "Bash", "input": {}, "result": "ok", "gate": str(gate)}
    return script(first, {"tool": "Read", "input": {}, "result": "x"}, {"echo_seen": True})


def channel(daemon: Daemon, name: str) -> Path:
    return daemon.runtime_dir / "channels" / name


def move_in(folder: Path, name: str, content: str) -> None:
    (folder / ".draft").write_text(content)
    (folder / ".draft").rename(folder / name)


def open_unwatched(directory: Path) -> tuple[Channel, list[str]]:
    """A channel outside any event loop, where nothing can tell of a change."""
    inbox = Collected()
    return Channel(directory, watches=inotify.Watches(), inbox=inbox), inbox.texts


def test_without_a_watch_files_are_taken_at_each_step_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made, got = open_unwatched(tmp_path / "lint")
    for word in ("one", "two"):
        move_in(made.directory, "_intervene.txt", word)
        made.attend()
    assert got == ["one", "two"]
    for told in (caplog.text, (made.directory / "output.txt").read_text()):
        assert told.count("files are taken between steps only") == 1


async def test_with_a_watch_a_step_costs_no_second_look(tmp_path: Path) -> None:
    inbox = Collected()
    got = inbox.texts
    made = Channel(tmp_path / "lint", watches=inotify.Watches(), inbox=inbox)
    move_in(made.directory, "_intervene.txt", "told by the kernel")
    made.attend()
    assert got == []
    await processes.until(lambda: got == ["told by the kernel"], "the kernel's word")
    made.close()


async def test_a_folder_that_was_removed_and_made_again_is_watched_anew(tmp_path: Path) -> None:
    inbox = Collected()
    got = inbox.texts
    made = Channel(tmp_path / "lint", watches=inotify.Watches(), inbox=inbox)
    shutil.rmtree(made.directory)
    made.attend()
    made.hear(batch_of_events({"type": "result", "subtype": "success"}))
    assert not made.directory.exists()
    made.directory.mkdir()
    move_in(made.directory, "_keyinfo.txt", "lay there")
    made.attend()
    await processes.until(lambda: got == ["lay there"], "what lay there")
    move_in(made.directory, "_keyinfo.txt", "came later")
    await processes.until(lambda: got == ["lay there", "came later"], "what came later")
    made.close()


@pytest.mark.parametrize("where", ["channels", "channels/lint"])
def test_a_link_in_the_place_of_the_folder_is_told_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    """Or in the place of what it lies in."""
    made, got = open_unwatched(tmp_path / "channels" / "lint")
    victim = tmp_path / "victim"
    (victim / "lint").mkdir(parents=True)
    (tmp_path / where).rename(tmp_path / "moved")
    (tmp_path / where).symlink_to(victim if where == "channels" else victim / "lint")
    move_in(made.directory, "_intervene.txt", "through the link")
    for _ in range(2):
        made.attend()
        made.output.tell("a line")
    assert got == []
    assert [entry.name for entry in (victim / "lint").iterdir()] == ["_intervene.txt"]
    assert caplog.text.count("is a symbolic link") == 1


async def test_a_stop_reaches_a_run_whose_folder_was_removed(daemon: Daemon) -> None:
    gate = daemon.gate()
    name = await daemon.begin(steps(gate))
    await daemon.in_tool(name)
    folder = channel(daemon, name)
    shutil.rmtree(folder)
    folder.mkdir()
    move_in(folder, "_stop.txt", "enough")
    gate.touch()
    session = await daemon.ended(name)
    assert (session["stop_reason"], session["message"]) == ("stopped", "enough")
    assert "is another one than before" in (folder / "output.txt").read_text()


@pytest.mark.skipif(not has_user_namespaces(), reason="needs user namespaces")
async def test_a_stop_reaches_a_run_where_the_kernel_gives_no_watch(world: Daemon) -> None:
    world.launcher = UNWATCHED
    world.start()
    gate = world.gate()
    name = await world.begin(steps(gate))
    await world.in_tool(name)
    folder = channel(world, name)
    move_in(folder, "_stop.txt", "enough")
    assert "files are taken between steps only" in (folder / "output.txt").read_text()
    gate.touch()
    session = await world.ended(name)
    assert (session["stop_reason"], session["message"]) == ("stopped", "enough")
