"""TASK_ID names one folder below `temp/`, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent_hook import main as hook

from .channel import HOOK, PYTHON, event


def fire(project: Path, task: str | None) -> subprocess.CompletedProcess[bytes]:
    given = {} if task is None else {"TASK_ID": task}
    return subprocess.run(
        [PYTHON, "-IS", str(HOOK)],
        cwd=project,
        env={"PATH": os.environ["PATH"], **given},
        input=event(),
        capture_output=True,
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize("task", [None, ""])
def test_without_a_task_the_hook_is_silent(tmp_path: Path, task: str | None) -> None:
    (tmp_path / "temp").mkdir()
    (tmp_path / "temp" / "_intervene.txt").write_text("plan B")
    done = fire(tmp_path, task)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert (tmp_path / "temp" / "_intervene.txt").exists()


@pytest.mark.parametrize(
    "task",
    ["..", ".", "in..ner", "../outside", "inner/deep", "/", "in\nner", "\n", ".hidden", "x" * 300],
)
def test_a_task_that_is_no_plain_name_is_ignored(tmp_path: Path, task: str) -> None:
    project = tmp_path / "project"
    places = [tmp_path / "project", tmp_path / "outside", project / "outside", project / "temp"]
    places += [project / "temp" / name for name in ("inner/deep", "in\nner", "in..ner", ".hidden")]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / "_intervene.txt").write_text("plan B")
    before = sorted(tmp_path.rglob("*"))
    done = fire(project, task)
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b"is not a plain file name; ignored" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_task_without_a_channel_leaves_no_trace(tmp_path: Path) -> None:
    done = fire(tmp_path, "nobody")
    assert (done.stdout, done.stderr) == (b"", b"")
    assert list(tmp_path.iterdir()) == []


@given(task=st.text() | st.text(st.sampled_from("./\0\n\u2028a-é\ud800")))
def test_no_name_that_leaves_its_folder_passes(task: str) -> None:
    """The environment cannot carry NUL; the check does not rely on that."""
    if task and hook._is_plain_name(task):
        assert not any(bad in task for bad in ("/", "..", "\0", "\n"))
        assert os.path.dirname(os.path.normpath(f"temp/{task}")) == "temp"
        assert len(os.fsencode(f"keyinfo-{task}.txt")) <= 255
