"""Machines that are ready to go on: one snapshot after the boot, one per agent that serves."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from . import qemu
from .install import UNIT, Install
from .machine import Machine


class Snapshots:
    """Keeps snapshots in the disk's own file; the image script removes all with the disk."""

    def __init__(self, cache: Path, install: Install) -> None:
        self._cache = cache
        self.disk = cache / "disk.qcow2"
        self._install = install
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

    def of_agent(self, agent: str, out_dir: Path) -> str:
        """The name of the snapshot with an agent's unit serving."""
        name = f"{agent}-{self._machine_key}-{self._install.key(agent)}"
        if name in self._there():
            return name
        ready = self.ready(out_dir)
        self._drop(f"{agent}-")
        machine = Machine(self.disk, out_dir)
        try:
            machine.start(ready)
            with machine.nested(f"installing agent {agent} and starting its unit"):
                for archive in self._install.archives(agent):
                    machine.unpack(archive)
                machine.succeed("systemctl daemon-reload")
                status, _ = machine.execute(f"systemctl start {UNIT}")
                if status != 0:
                    sys.stderr.write(machine.execute(f"journalctl -u {UNIT} --no-pager")[1])
                    sys.stderr.write(machine.execute(f"systemctl status {UNIT} --no-pager")[1])
                    machine.succeed("false")
                booted = machine.succeed(f"cat $(systemctl show -P FragmentPath {UNIT})")
                assert booted == self._install.unit(agent), "the unit booted is another"
                # whatever runs once after a start has run
                machine.succeed("python3 /etc/hive-test/client.py --help >/dev/null")
            machine.snapshot(name)
        finally:
            self._end(machine)
        return name
