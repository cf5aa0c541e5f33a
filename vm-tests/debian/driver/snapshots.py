"""Machines that are ready to go on: one snapshot after the boot, one per setup that serves."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from . import qemu, setups
from .install import Install
from .machine import Machine
from .setups import Setup


class Snapshots:
    """Keeps snapshots in the disk's own file; the image script removes all with the disk."""

    def __init__(self, cache: Path, install: Install) -> None:
        self._cache = cache
        self.disk = cache / "disk.qcow2"
        self._install = install
        self._setups_key = Path(setups.__file__).read_text()
        machine = [qemu.version(), *qemu.MACHINE, str(qemu.MEMORY_MIB), qemu.KERNEL]
        self._machine_key = hashlib.sha256("\0".join(machine).encode()).hexdigest()[:8]

    def _there(self) -> list[str]:
        listed = subprocess.run(
            ["qemu-img", "snapshot", "-l", str(self.disk)],
            capture_output=True,
            check=True,
            text=True,
        )
        return [line.split()[1] for line in listed.stdout.splitlines()[2:]]

    def _drop(self, prefix: str) -> None:
        for name in self._there():
            if name.startswith(prefix):
                subprocess.run(["qemu-img", "snapshot", "-d", name, str(self.disk)], check=True)

    def _end(self, machine: Machine) -> None:
        machine.crash()
        if not machine.clean:
            # the emulator did not close the file itself: have it made anew next time
            (self._cache / "image.key").unlink(missing_ok=True)

    def ready(self, out_dir: Path) -> str:
        """The name of the snapshot right after the boot."""
        name = f"ready-{self._machine_key}"
        if name not in self._there():
            self._drop("")
            machine = Machine(self.disk, out_dir)
            try:
                with machine.nested("booting the machine"):
                    machine.start()
                    machine.succeed("systemctl is-system-running --wait || true")
                machine.snapshot(name)
            finally:
                self._end(machine)
        return name

    def of(self, setup: Setup, out_dir: Path) -> str:
        """The name of the snapshot with everything of a scenario serving."""
        prefix = f"{setup.name}-"
        key = hashlib.sha256(f"{setup.key(self._install)}{self._setups_key}".encode()).hexdigest()
        name = f"{prefix}{self._machine_key}-{key[:16]}"
        if name in self._there():
            return name
        ready = self.ready(out_dir)
        self._drop(prefix)
        machine = Machine(self.disk, out_dir)
        try:
            machine.start(ready)
            with machine.nested(f"installing {setup.name} and starting its units"):
                setup.start(machine, self._install)
            machine.snapshot(name)
        finally:
            self._end(machine)
        return name
