"""The emulator: its command line, its process and its control socket (QMP)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from .errors import MachineError

# one core and one emulation thread: with two, about one boot in thirty dies of an oops
MACHINE = ["-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "1"]
MEMORY_MIB = 1024
KERNEL = (
    "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=1 apparmor=0 "
    "selinux=0 audit=0 net.ifnames=0 systemd.show_status=0"
)
QUIT_S = 20.0


def version() -> str:
    """The emulator's version line: a snapshot is good for one version only."""
    out = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, check=True)
    return out.stdout.decode().splitlines()[0]


def command_line(disk: Path, run: Path, snapshot: str | None) -> list[str]:
    """Kernel and initrd lie beside the disk; the sockets and the serial log go to `run`."""
    image = disk.parent
    return [
        "qemu-system-x86_64",
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *MACHINE,
        *("-m", str(MEMORY_MIB)),
        *("-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.gz")),
        *("-append", KERNEL),
        *("-drive", f"if=none,id=root,file={disk},format=qcow2,cache=unsafe"),
        *("-device", "virtio-blk-pci,drive=root"),
        *("-serial", f"file:{run / 'serial.log'}"),
        *("-qmp", f"unix:{run / 'qmp.sock'},server=on,wait=off"),
        *("-device", "virtio-serial-pci"),
        *("-chardev", f"socket,id=shell,path={run / 'shell.sock'}"),
        *("-device", "virtconsole,chardev=shell"),
        *("-chardev", f"socket,id=data,path={run / 'data.sock'}"),
        *("-device", "virtserialport,chardev=data,nr=2"),
        *(["-loadvm", snapshot] if snapshot else []),
    ]


class Qemu:
    """A running emulator. The caller listens on `shell.sock` and `data.sock` beforehand."""

    def __init__(self, disk: Path, run: Path, *, snapshot: str | None) -> None:
        log = (run / "qemu.log").open("wb")
        self._log = run / "qemu.log"
        # a group of its own, so that ^C at a terminal reaches the driver, which ends it properly
        self.process = subprocess.Popen(
            command_line(disk, run, snapshot),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )
        log.close()
        self._qmp = self._connect(run / "qmp.sock")
        self._lines = self._qmp.makefile("rb")
        self._read()  # the greeting
        self.command("qmp_capabilities")

    def _connect(self, path: Path) -> socket.socket:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
            except OSError:
                connection.close()
                time.sleep(0.02)
            else:
                connection.settimeout(120)
                return connection
        raise MachineError(f"the emulator did not start: {self.words()}")

    def words(self) -> str:
        """What it said on its outputs."""
        return self._log.read_text(errors="replace").strip() or "(no word)"

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise MachineError(f"the emulator is gone: {self.words()}")
        message: dict[str, Any] = json.loads(line)
        return message

    def command(self, name: str, **arguments: object) -> Any:
        """One QMP command; events that come before its answer are dropped."""
        self._qmp.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            message = self._read()
            if "error" in message:
                raise MachineError(f"{name}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]

    def monitor(self, line: str) -> str:
        """A command of the human monitor (QMP has none for whole-machine snapshots)."""
        said: str = self.command("human-monitor-command", **{"command-line": line})
        return said

    def snapshot(self, name: str) -> None:
        """Keep memory and disk under a name, in the disk's own file."""
        if said := self.monitor(f"savevm {name}").strip():
            raise MachineError(f"savevm {name}: {said}")

    def quit(self) -> bool:
        """End it; true when it closed the disk itself, so that the file can be trusted."""
        try:
            self._qmp.sendall(b'{"execute": "quit"}\n')
            self.process.wait(QUIT_S)
        except (OSError, subprocess.TimeoutExpired):
            pass
        clean = self.process.poll() == 0
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._lines.close()
        self._qmp.close()
        return clean
