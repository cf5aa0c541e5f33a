"""The recipes for contributors, followed to the letter in copies of the project (issue 12, 11)."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.pages import ROOT, Block, blocks

PAGE = "docs/contributing/recipes.md"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".cache", ".hypothesis", "__pycache__", ".pytest_cache", "chaos", "bench"
)
TEST = re.compile(r'^make test ARGS="(.+)"$')


def recipes() -> dict[str, list[Block]]:
    """The blocks of each recipe, by its heading."""
    headings = [
        (number, line[3:])
        for number, line in enumerate((ROOT / PAGE).read_text().splitlines(), 1)
        if line.startswith("## ")
    ]
    found: dict[str, list[Block]] = {heading: [] for _, heading in headings}
    for block in blocks(PAGE):
        found[[heading for at, heading in headings if at < block.line][-1]].append(block)
    return found


RECIPES = recipes()
Copying = Callable[[list[Block]], Path]


@pytest.fixture
def copied(tmp_path: Path) -> Copying:
    """Makes a copy of the project to which blocks are applied; the programs are its own."""

    def make(given: list[Block]) -> Path:
        copy = tmp_path / "project"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for block in given:
            if block.language == "diff":
                _apply(block, copy)
        (tmp_path / "bin").mkdir()
        for program, module in (
            ("hive-subagent-stub-claude", "hive_subagent_stub.main"),
            ("hive-subagent-daemon", "hive_subagent.daemon"),
        ):
            start = f"from {module} import main; raise SystemExit(main())"
            wrapper = tmp_path / "bin" / program
            wrapper.write_text(
                f"#!/bin/sh\nPYTHONPATH={shlex.quote(_path(copy))}"
                f' exec {shlex.quote(sys.executable)} -c {shlex.quote(start)} "$@"\n'
            )
            wrapper.chmod(0o755)
        return copy

    return make


def _path(copy: Path) -> str:
    # a Nix build finds pytest and the dependencies by PYTHONPATH
    given = os.environ.get("PYTHONPATH", "").split(":")
    return ":".join([f"{copy}/python/src", f"{copy}/python/testing/src", *filter(None, given)])


def _apply(block: Block, copy: Path) -> None:
    # what stands around a change may have moved; the line before and after it must be there
    done = subprocess.run(
        ["git", "apply", "-C1", "-"],
        cwd=copy,
        input=block.text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)},
    )
    assert done.returncode == 0, (
        f"{PAGE}:{block.line}: the code is not what the recipe changes any more:\n{done.stderr}"
    )


def _run(copy: Path, *command: str, folder: str = "python") -> None:
    path = f"{copy.parent / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=copy / folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PATH": path, "PYTHONPATH": _path(copy)},
    )
    assert done.returncode == 0, f"{shlex.join(command)}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", [name for name, given in RECIPES.items() if given])
def test_a_recipe_followed_to_the_letter_passes_its_own_tests(
    name: str, copied: Copying, pytestconfig: pytest.Config
) -> None:
    """Issue 12, 11: the recipe for a sink failed as written, and there was none for an ending."""
    given = RECIPES[name]
    copy = copied(given)
    commands = [line for b in given if b.language == "sh" for line in b.text.splitlines()]
    assert commands
    for command in commands:
        arguments = TEST.match(command)
        assert arguments, f"{name}: {command} is not run by this test"
        pytests = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "no:cacheprovider"]
        # as for this test: whoever packages the project takes no warning for an error
        warnings = "\n".join(pytestconfig.getini("filterwarnings"))
        pytests.append(f"--override-ini=filterwarnings={warnings}")
        # short, for the paths of sockets
        with tempfile.TemporaryDirectory() as folder:
            _run(copy, *pytests, f"--basetemp={folder}/t", *shlex.split(arguments[1]))


@pytest.mark.skipif(
    any(importlib.util.find_spec(tool) is None for tool in ("mypy", "importlinter", "ruff")),
    reason="the tools of make lint are not here",
)
def test_all_recipes_together_pass_lint(copied: Copying) -> None:
    """Issue 12, 11: `_KINDS` had a type that another sink did not fit."""
    copy = copied([block for given in RECIPES.values() for block in given])
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--config=python/pyproject.toml", "."]
        _run(copy, *ruff, folder=".")
    if (cache := ROOT / "python" / ".mypy_cache").exists():
        shutil.copytree(cache, copy / "python" / ".mypy_cache", dirs_exist_ok=True)
    _run(copy, sys.executable, "-m", "mypy", "src", "testing/src")
    _run(copy, str(Path(sys.executable).with_name("lint-imports")))


def test_every_recipe_of_the_list_is_there() -> None:
    source = (ROOT / PAGE).read_text()
    listed = re.findall(r"^\| .+ \| \[(.+?)\]\(#", source, re.MULTILINE)
    assert [name.lower() for name, given in RECIPES.items() if given] == [
        name.lower() for name in listed
    ]
