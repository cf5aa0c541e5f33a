"""What an agent's machine gets on top of the image: our code, and what the module rendered.

The rendered files name store paths of a stand-in package set. In the machine these paths exist,
as links to where things are, so the unit that is booted is the rendered one to the byte.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

from . import programs
from .programs import OURS, STORE

UNIT = "hive-subagent-daemon.service"
SOCKET = "hive-subagent-daemon.socket"
# where each rendered file goes
PLACES = {
    UNIT: f"/etc/systemd/system/{UNIT}",
    SOCKET: f"/etc/systemd/system/{SOCKET}",
    "hive-subagent.json": f"{STORE}hive-subagent.json",
    "claude-mcp.json": "/etc/hyperhive/claude-mcp.json",
    "extra-mcp.json": "/etc/hyperhive/extra-mcp.json",
    "50-subagent-intervention.json": (
        "/etc/claude-code/managed-settings.d/50-subagent-intervention.json"
    ),
    "hive-subagent-roles": f"{STORE}hive-subagent-roles",
}
LINKS = {
    f"/etc/systemd/system/multi-user.target.wants/{UNIT}": f"../{UNIT}",
    f"/etc/systemd/system/sockets.target.wants/{SOCKET}": f"../{SOCKET}",
    f"{STORE}hive-subagent": OURS,
    f"{STORE}claude-code/bin/claude": f"{OURS}/bin/hive-subagent-stub-claude",
    **{
        f"{STORE}{name}": "/usr"
        for name in ("coreutils", "findutils", "gnugrep", "gnused", "python3", "systemd")
    },
    f"{OURS}/share/hive-subagent/hook.py": f"{OURS}/code/hive_subagent_hook/main.py",
}
# vm-tests/nixos/machine.nix writes the same
SECRETS = {
    "/var/lib/secrets/subagent-token": "the-token-of-vault",
    "/var/lib/secrets/claude.env": "ANTHROPIC_API_KEY=of-vault\n",
}
# of vm-tests, what scenarios find in the machine
BROUGHT = {
    "client.py": ("/etc/hive-test/client.py", 0o644),
    "lookup-mcp.py": ("/usr/bin/lookup-mcp", 0o755),
}


def _digest(project: Path, *paths: Path) -> str:
    files = sorted(
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file() and file.suffix != ".pyc"
    )
    sum_ = hashlib.sha256()
    for file in files:
        sum_.update(f"{file.relative_to(project)}\0".encode() + file.read_bytes())
    return sum_.hexdigest()[:16]


class Install:
    """Makes the archives that are unpacked in a machine; `cache` is .cache/vm."""

    def __init__(self, project: Path, cache: Path) -> None:
        self._project = project
        self._cache = cache
        self._rendered = project / "tests" / "nix" / "rendered"
        python = project / "python"
        self._package = project / "nix" / "package.nix"
        parts = (python / "src", python / "pyproject.toml", python / "testing", self._package)
        self._code_key = _digest(project, *parts, Path(programs.__file__).resolve())

    def key(self, agent: str) -> str:
        """Changes with anything that the archives would hold."""
        ours = Path(__file__).resolve()
        brought = [self._project / "vm-tests" / name for name in BROUGHT]
        return self._code_key + _digest(self._project, ours, *brought, self._rendered / agent)

    def unit(self, agent: str) -> str:
        """The unit as the module renders it."""
        return (self._rendered / agent / UNIT).read_text()

    def code(self) -> bytes:
        """A tar archive for the root: our package for the machine's Python, and its programs."""
        archive = self._cache / f"code-{self._code_key}.tar"
        if archive.exists():
            return archive.read_bytes()
        for old in self._cache.glob("code-*.tar"):
            old.unlink()
        root = self._cache / "rootfs"
        target = root / OURS.lstrip("/") / "code"
        shutil.rmtree(target, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        place = ["--root-user-action=ignore", "--no-deps", "--no-compile", "--target", str(target)]
        python = self._project / "python"
        source = ["--no-warn-conflicts", str(python), str(python / "testing")]
        subprocess.run([*pip, *place, *source], check=True)
        shutil.rmtree(target / "bin", ignore_errors=True)  # made for this machine's Python
        compile_ = ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        subprocess.run(["chroot", str(root), *compile_, f"{OURS}/code"], check=True)

        with tarfile.open(archive, "w") as tar:
            tar.add(target, f"{OURS}/code".lstrip("/"), filter=_by_root)
            scripts: dict[str, str] = {}
            for project in (python, python / "testing"):
                with (project / "pyproject.toml").open("rb") as file:
                    scripts |= tomllib.load(file)["project"]["scripts"]
            wrapped = programs.are_wrapped(self._package.read_text())
            for path, text in programs.installed(scripts, wrapped=wrapped).items():
                _add(tar, path, text, 0o755)
        return archive.read_bytes()

    def files(self, agent: str) -> bytes:
        """A tar archive for the root of an agent's machine or container: its rendered files."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            rendered = self._rendered / agent
            for file in sorted(file for file in rendered.rglob("*") if file.is_file()):
                top, *below = file.relative_to(rendered).parts
                _add(tar, "/".join([PLACES[top], *below]), file.read_text())
            for name, (place, mode) in BROUGHT.items():
                _add(tar, place, (self._project / "vm-tests" / name).read_text(), mode)
            unit = self.unit(agent)
            for place, secret in SECRETS.items():
                if place not in unit:
                    continue  # another agent's
                _add(tar, place, secret, 0o400)
            for place, target in LINKS.items():
                info = tarfile.TarInfo(place.lstrip("/"))
                info.type, info.linkname = tarfile.SYMTYPE, target
                tar.addfile(info)
        return buffer.getvalue()


def _by_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def _add(tar: tarfile.TarFile, place: str, text: str, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(place.lstrip("/"))
    content = text.encode()
    info.size, info.mode = len(content), mode
    tar.addfile(info, io.BytesIO(content))
