"""A machine as the scenarios see it: the names and meanings of the NixOS test driver."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from .commands import Commands
from .errors import MachineError
from .qemu import Qemu
from .shell import RootShell, listen, tar_of

BOOT_S = 180.0
SHUTDOWN_S = 120.0


class Machine(Commands):
    """One machine; it starts at the first command, as NixOS's does."""

    name = "machine"

    def __init__(self, disk: Path, out_dir: Path) -> None:
        self._disk = disk
        self.out_dir = out_dir
        self._qemu: Qemu | None = None
        self._shell: RootShell | None = None
        self._run: Path | None = None
        self._read_to = 0
        self.clean = True

    def start(self, snapshot: str | None = None) -> None:
        """Boot, or go on from a snapshot (0.4 to 1.2 s); returns when the shell answers."""
        if self._qemu is not None:
            return
        self._run = Path(tempfile.mkdtemp(prefix="vm-"))
        self._read_to = 0
        servers = [listen(self._run / name) for name in ("shell.sock", "data.sock")]
        try:
            self._qemu = Qemu(self._disk, self._run, snapshot=snapshot)
            for server in servers:
                server.settimeout(20)
            shell, data = (server.accept()[0] for server in servers)
        finally:
            for server in servers:
                server.close()
        self._shell = RootShell(shell, data)
        if snapshot is None:
            self._shell.wait_for_greeting(BOOT_S)
        else:
            # the clock stood still, and every resumed machine would draw the same numbers
            self.succeed(f"date -s @{time.time():.3f} >/dev/null")
            self.succeed(f"echo {time.time_ns()} >/dev/urandom")

    def snapshot(self, name: str) -> None:
        """Keep the machine as it is under a name."""
        assert self._qemu is not None
        self._qemu.snapshot(name)

    def crash(self) -> None:
        """Power failure: nothing inside is told."""
        if self._qemu is None:
            return
        self.clean = self._qemu.quit() and self.clean
        self._gone()

    def shutdown(self) -> None:
        """Power off in good order, and wait for it."""
        if self._qemu is None or self._shell is None:
            return
        # detached: the shell is one of the first to go
        self._shell.send("systemctl poweroff --no-block >/dev/null 2>&1", 60)
        try:
            self._qemu.process.wait(SHUTDOWN_S)
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"no power-off within {SHUTDOWN_S:.0f} s") from error
        self.crash()

    def reboot(self) -> None:
        """Shut down and boot again; the disk stays."""
        self.shutdown()
        self.start()

    def _gone(self) -> None:
        if self._run is not None:
            self.out_dir.mkdir(parents=True, exist_ok=True)
            shutil.copy(self._run / "serial.log", self.out_dir / "serial.log")
            shutil.rmtree(self._run, ignore_errors=True)
        if self._shell is not None:
            self._shell.close()
        self._qemu = self._shell = self._run = None

    def execute(self, command: str, timeout: int | None = 900) -> tuple[int, str]:
        """(status, stdout) of a shell command, run under `set -euo pipefail`."""
        self.start()
        assert self._shell is not None
        return self._shell.execute(command, timeout)

    def wait_for_console_text(self, regex: str, timeout: int = 900) -> None:
        """Until a line of the serial console matches; lines are seen once."""
        assert self._run is not None
        log = self._run / "serial.log"

        def matches() -> bool:
            text = log.read_bytes()[self._read_to :].decode(errors="replace")
            if found := re.search(regex, text):
                self._read_to += len(text[: found.end()].encode())
            return found is not None

        self._until(f"waiting for {regex!r} on the console", matches, timeout)

    def copy_from_host(self, source: str, target: str) -> None:
        """A file or folder of this machine to an absolute path inside, owned by root."""
        self.start()
        assert self._shell is not None
        self._shell.send_tar(tar_of(Path(source), target.lstrip("/")), "/")

    def unpack(self, archive: bytes, folder: str = "/") -> None:
        """A tar archive, at the root or in a folder."""
        self.start()
        assert self._shell is not None
        self._shell.send_tar(archive, folder)

    def report(self, unit: str) -> None:
        """Write a unit's journal and status to stderr."""
        for command in (
            f"journalctl -u {unit} -n 60 --no-pager",
            f"systemctl status {unit} --no-pager | head -n 40",
        ):
            sys.stderr.write(self.execute(command)[1] + "\n")

    def copy_from_vm(self, source: str, target_dir: str = "") -> None:
        """A file or folder from inside to `out_dir`/`target_dir`."""
        inside = Path(source)
        packed = self.succeed(f"tar -c -C {inside.parent} -f - {inside.name} | base64 -w 0")
        target = self.out_dir / target_dir
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed))) as archive:
            archive.extractall(target, filter="data")
