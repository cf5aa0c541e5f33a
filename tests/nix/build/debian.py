"""Programs of a Debian suite, unpacked by this machine's own apt; nothing is installed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# documentation and translations: two thirds of what is unpacked
LEFT_OUT = ("doc", "i18n", "info", "locale", "man", "bash-completion", "lintian")


class Cannot(Exception):
    """This machine cannot provide a part; the text says which."""


def run(*command: str | Path) -> str:
    """The output of a command. Raises Cannot with its last lines when it fails."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise Cannot(f"{command[0]} {command[1]}: {' / '.join(last)}")
    return done.stdout


def mirror() -> str:
    """The mirror that this machine itself uses. Raises Cannot when apt names none."""
    for uri in run("apt-get", "indextargets", "--format", "$(REPO_URI)").splitlines():
        if "security" not in uri:
            return uri
    raise Cannot("apt knows no mirror: run apt-get update")


class Suite:
    """A suite's packages, downloaded to `folder` by an apt with a configuration of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        for place in ("state/lists/partial", "cache/archives/partial"):
            (folder / place).mkdir(parents=True, exist_ok=True)
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        (folder / "sources.list").write_text(f"deb {signed}{mirror()} {name} main\n")
        (folder / "nothing").mkdir(exist_ok=True)
        (folder / "status").touch()

    def _apt(self, *arguments: str) -> str:
        own = {
            "Dir::State": self._folder / "state",
            # nothing counts as installed, so the whole closure is fetched
            "Dir::State::status": self._folder / "status",
            # dpkg's lock would lie beside its status, and nothing is installed
            "Debug::NoLocking": "true",
            "Dir::Cache": self._folder / "cache",
            "Dir::Etc::sourcelist": self._folder / "sources.list",
            "Dir::Etc::sourceparts": self._folder / "nothing",
            "Dir::Etc::preferencesparts": self._folder / "nothing",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
        }
        options = [part for key, value in own.items() for part in ("-o", f"{key}={value}")]
        return run("apt-get", "-q", "-y", *options, *arguments)

    def fetch(self, packages: Iterable[str]) -> list[Path]:
        """The files of these packages and of all that they need. Raises Cannot without them."""
        self._apt("update")
        self._apt("install", "--download-only", *packages)
        return sorted((self._folder / "cache" / "archives").glob("*.deb"))


def unpack(file: Path, target: Path) -> list[Path]:
    """Unpack a package's /usr into `target`; returns its programs."""
    listed = run("dpkg-deb", "--contents", file)
    excluded = [f"--exclude=./usr/share/{name}" for name in LEFT_OUT]
    # what lies outside /usr is configuration, which a sandbox does not have
    tar: list[str | Path] = [
        "tar",
        "-x",
        "--no-same-owner",
        "--strip-components=2",
        "-C",
        target,
        *excluded,
    ]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE) as reading:
        subprocess.run(
            [*tar, "--wildcards", "./usr/*"],
            stdin=reading.stdout,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    names = (line.split()[5] for line in listed.splitlines())
    return [
        target / name.removeprefix("./usr/")
        for name in names
        if name.startswith(("./usr/bin/", "./usr/sbin/")) and not name.endswith("/")
    ]


def name_of(file: Path) -> str:
    """The name of the package that a file holds."""
    return file.name.split("_")[0]
