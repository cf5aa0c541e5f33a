"""The scripts that find Nix and nixpkgs say what is missing; no skipped check passes in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import BASH, full_path

SCRIPTS = Path(__file__).parent / "nix"
# what the scripts call of the system; Nix and mmdebstrap are each test's own business
SYSTEM = ("bash", "chroot", "dirname", "git", "head", "id", "realpath", "sort", "unshare")


class Project:
    """A copy of the scripts, whose PATH holds what a test puts there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        for name in SYSTEM:
            (self.bin / name).symlink_to(full_path(name))
        (root / "tests/nix").mkdir(parents=True)
        for name in ("find-lib", "run", "with-nix"):
            shutil.copy(SCRIPTS / name, root / "tests/nix")

    def program(self, path: str, script: str) -> None:
        """An executable, below the project."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def nixpkgs(self, name: str) -> Path:
        """A folder that looks like a nixpkgs."""
        folder = self.root / name
        (folder / "lib").mkdir(parents=True)
        (folder / "lib/modules.nix").touch()
        return folder

    def run(self, script: str, *arguments: str, **variables: str) -> tuple[int, str, str]:
        """(status, stdout, stderr) of a script of tests/nix."""
        ran = subprocess.run(
            [BASH, f"tests/nix/{script}", *arguments],
            cwd=self.root,
            env={"PATH": str(self.bin), "HOME": str(self.root / "home"), **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return ran.returncode, ran.stdout.strip(), ran.stderr.strip()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_named_nixpkgs_is_taken_and_a_missing_one_is_an_error(
    project: Project,
) -> None:
    """Issue 11, 19: also its lib alone."""
    folder = project.nixpkgs("named")
    other = project.nixpkgs("other")
    for given in (folder, folder / "lib"):
        variables = {"NIXPKGS": str(given), "NIX_PATH": f"nixpkgs={other}"}
        assert project.run("find-lib", **variables)[:2] == (0, str(folder / "lib"))
    status, out, said = project.run("find-lib", NIXPKGS="/nowhere", NIX_PATH=f"nixpkgs={other}")
    assert (status, out) == (2, "")
    assert said.startswith("NIXPKGS=/nowhere holds no nixpkgs")


@pytest.mark.parametrize(
    "search_path",
    [
        "nixpkgs={channels}/nixos:nixos-config=/etc/nixos/configuration.nix:{channels}",
        "nixos-config=/etc/nixos/configuration.nix:{channels}",
        "nixpkgs=flake:nixpkgs:{channels}",
        "nixpkgs=https://nixpkgs.example/x.tar.gz:{channels}",
    ],
)
def test_the_search_path_that_nixos_sets_is_understood_without_nix(
    project: Project, search_path: str
) -> None:
    """Issue 11, 19: with channels or with a registry; an address is passed over."""
    for name in ("nixos", "nixpkgs"):
        project.nixpkgs(f"channels/{name}")
    given = search_path.format(channels=project.root / "channels")
    status, out, _ = project.run("find-lib", NIX_PATH=given)
    expected = "nixos" if "nixos:" in given else "nixpkgs"
    assert (status, out) == (0, str(project.root / f"channels/{expected}/lib"))


def test_where_nix_is_there_it_says_what_its_nixpkgs_is(project: Project) -> None:
    """Issue 11, 19: it knows addresses and the flake registry."""
    of_nix, channel = project.nixpkgs("of-nix"), project.nixpkgs("channels/nixpkgs")
    project.program("bin/nix-instantiate", f'test "$*" = "--find-file nixpkgs" && echo {of_nix}')
    given = f"nixpkgs=flake:nixpkgs:{channel.parent}"
    assert project.run("find-lib", NIX_PATH=given)[:2] == (0, str(of_nix / "lib"))
    project.program("bin/nix-instantiate", "exit 1")
    assert project.run("find-lib", NIX_PATH=given)[:2] == (0, str(channel / "lib"))


def test_the_channel_of_the_user_is_found(project: Project) -> None:
    """Issue 11, 19."""
    channel = project.nixpkgs("home/.nix-defexpr/channels/nixpkgs")
    assert project.run("find-lib")[:2] == (0, str(channel / "lib"))


def test_the_locked_nixpkgs_comes_last(project: Project) -> None:
    """Issue 11, 19."""
    locked = project.nixpkgs("locked")
    project.program("bin/nix", f'case "$*" in *{project.root}/flake.lock*) echo {locked} ;; esac')
    assert project.run("find-lib")[:2] == (0, str(locked / "lib"))
    channel = project.nixpkgs("home/.nix-defexpr/channels/nixpkgs")
    assert project.run("find-lib")[:2] == (0, str(channel / "lib"))


def test_without_any_nixpkgs_nothing_is_printed(project: Project) -> None:
    """Issue 11, 19."""
    project.program("bin/nix", "exit 1")
    if Path("/nix/var/nix/profiles/per-user/root/channels").exists():
        pytest.skip("this machine has a nixpkgs for everybody")
    assert project.run("find-lib", NIX_PATH="nixpkgs=/nowhere:/nowhere") == (1, "", "")


@pytest.mark.parametrize("present", ["", "unshare", "mmdebstrap"])
def test_without_nix_each_missing_tool_is_named(project: Project, present: str) -> None:
    """Issue 11, 19: one of two was enough to go on to an error without a hint."""
    (project.bin / "unshare").unlink()
    project.program("bin/apt-get", "exit 1")
    if present:
        project.program(f"bin/{present}", "exit 1")
    status, _, said = project.run("with-nix", "nix", "--version")
    assert status == 69
    assert len(said.splitlines()) == 1
    assert "no Nix >= 2.18 on PATH" in said
    named = said.partition("missing: ")[2].partition(";")[0].split()
    for tool in ("unshare", "mmdebstrap"):
        assert (tool in named) == (tool != present), said
    assert ("rights" in named) == (os.getuid() != 0), said


def test_a_nix_on_path_is_used_if_it_is_not_too_old(project: Project) -> None:
    """Issue 11, 19."""
    project.program("bin/nix", 'echo "nix (Nix) 2.18.1"')
    assert project.run("with-nix", "nix", "eval")[:2] == (0, "nix (Nix) 2.18.1")
    project.program("bin/nix", 'echo "nix (Nix) 2.8.0"')
    assert project.run("with-nix", "nix", "eval")[0] == 69


@pytest.mark.parametrize(
    ("variables", "status"), [({}, 0), ({"NOTHING_SKIPPED": ""}, 0), ({"NOTHING_SKIPPED": "1"}, 1)]
)
def test_a_skipped_evaluation_fails_in_ci_and_is_said_elsewhere(
    project: Project, variables: dict[str, str], status: int
) -> None:
    """Issue 11, 19."""
    project.program("tests/nix/with-nix", "exit 0")
    project.program("tests/nix/find-lib", "exit 1")
    project.program(".cache/nix/venv/bin/python", "exit 0")
    (project.root / ".cache/nix/venv/.complete").touch()
    ran, out, _ = project.run("run", **variables)
    assert ran == status
    assert "SKIPPED evaluation" in out
    assert "NIXPKGS=" in out
