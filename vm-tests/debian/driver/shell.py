"""The root shell inside: one line in, one line out; and a second port for files."""

from __future__ import annotations

import base64
import io
import shlex
import socket
import tarfile
import time
from pathlib import Path

from .errors import MachineError

# what the shell says first; the same words as in NixOS tests
GREETING = b"Spawning backdoor root shell..."


def listen(path: Path) -> socket.socket:
    """A socket for the emulator to connect to."""
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(1)
    return server


class RootShell:
    """Speaks to the shell on hvc0. `port` is the guest's device for files."""

    port = "/dev/vport*p2"

    def __init__(self, shell: socket.socket, data: socket.socket) -> None:
        self._shell = shell
        self._data = data
        self._pending = b""

    def _line(self, timeout: float) -> bytes:
        """The next line, without its end. Raises MachineError when none comes."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._pending:
            self._shell.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                chunk = self._shell.recv(65536)
            except TimeoutError:
                raise MachineError(f"no answer of the machine's shell in {timeout:.0f} s") from None
            if not chunk:
                raise MachineError("the machine's shell is gone")
            self._pending += chunk
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def wait_for_greeting(self, timeout: float) -> None:
        """Until the shell is there, after a boot."""
        deadline = time.monotonic() + timeout
        while GREETING not in self._line(max(0.01, deadline - time.monotonic())):
            pass

    def send(self, command: str, timeout: int | None) -> None:
        """Start a command, under the options that NixOS tests run theirs with."""
        limit = f"timeout {timeout} " if timeout is not None else ""
        script = shlex.quote(f"set -euo pipefail; {command}")
        self._shell.sendall(f"{limit}bash -c {script} | (base64 -w 0; echo)\n".encode())

    def result(self, timeout: int | None) -> tuple[int, str]:
        """(status, stdout) of the command that was sent."""
        # the guest's own limit comes first; this one is for a machine that stands still
        patience = 3600.0 if timeout is None else timeout + 120.0
        output = base64.b64decode(self._line(patience)).decode(errors="replace")
        self._shell.sendall(b"echo ${PIPESTATUS[0]}\n")
        return int(self._line(120)), output

    def execute(self, command: str, timeout: int | None) -> tuple[int, str]:
        """Run a command and wait for its output to be closed."""
        self.send(command, timeout)
        return self.result(timeout)

    def send_tar(self, archive: bytes, folder: str) -> None:
        """Unpack a tar archive under `folder`, owners and modes kept."""
        self.send(f"head -c {len(archive)} {self.port} | tar -x -p -f - -C {folder}", 300)
        self._data.settimeout(300)
        self._data.sendall(archive)
        status, output = self.result(300)
        if status != 0:
            raise MachineError(f"unpacking under {folder}: status {status} {output}")

    def close(self) -> None:
        """Hang up."""
        self._shell.close()
        self._data.close()


def tar_of(source: Path, name: str) -> bytes:
    """A tar archive with `source`, file or folder, as `name`, owned by root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:

        def by_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            return info

        archive.add(source, name, filter=by_root)
    return buffer.getvalue()
