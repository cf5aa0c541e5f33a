"""Commands inside a machine and what one waits for, whatever the machine is made of."""

from __future__ import annotations

import math
import shlex
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import ExpectationFailed


class Commands(ABC):
    """The part of the NixOS test driver's machine that needs a root shell only.

    `patience` bounds what is waited for, in seconds, whatever a scenario allows.
    """

    patience = math.inf

    @abstractmethod
    def execute(self, command: str, timeout: int | None = 900) -> tuple[int, str]:
        """(status, stdout) of a shell command, run under `set -euo pipefail`."""

    @contextmanager
    def nested(self, message: str) -> Iterator[None]:
        """Say what is being done and how long it took."""
        began = time.monotonic()
        yield
        sys.stderr.write(f"    {message} ({time.monotonic() - began:.1f} s)\n")

    def succeed(self, *commands: str, timeout: int | None = None) -> str:
        """The output of commands that must all exit with 0."""
        outputs = []
        for command in commands:
            status, output = self.execute(command, timeout)
            if status != 0:
                raise ExpectationFailed(f"`{command}` exited with {status}: {output.strip()}")
            outputs.append(output)
        return "".join(outputs)

    def fail(self, *commands: str, timeout: int | None = None) -> str:
        """The output of commands that must all exit with something else than 0."""
        outputs = []
        for command in commands:
            status, output = self.execute(command, timeout)
            if status == 0:
                raise ExpectationFailed(f"`{command}` succeeded: {output.strip()}")
            outputs.append(output)
        return "".join(outputs)

    def _until(self, what: str, true: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + min(timeout, self.patience)
        pause = 0.1
        with self.nested(what):
            while not true():
                if time.monotonic() > deadline:
                    raise ExpectationFailed(f"{what}: not within {timeout:.0f} s")
                time.sleep(pause)
                # asking costs the machine's one slow core more than waiting costs us
                pause = min(1.0, pause * 2)

    def wait_until_succeeds(self, command: str, timeout: int = 900) -> str:
        """Repeat a command until it exits with 0; its output."""
        output = ""

        def succeeds() -> bool:
            nonlocal output
            status, output = self.execute(command, timeout)
            return status == 0

        self._until(f"waiting for success: {command}", succeeds, timeout)
        return output

    def wait_until_fails(self, command: str, timeout: int = 900) -> str:
        """Repeat a command until it exits with something else than 0; its output."""
        output = ""

        def fails() -> bool:
            nonlocal output
            status, output = self.execute(command, timeout)
            return status != 0

        self._until(f"waiting for failure: {command}", fails, timeout)
        return output

    def _probe(self, what: str, command: str, timeout: int, *, wanted: bool = True) -> None:
        self._until(what, lambda: (self.execute(command)[0] == 0) is wanted, timeout)

    def wait_for_file(self, filename: str, timeout: int = 900) -> None:
        """Until a file is there."""
        self._probe(f"waiting for file {filename}", f"test -e {filename}", timeout)

    def wait_for_open_port(self, port: int, addr: str = "localhost", timeout: int = 900) -> None:
        """Until somebody listens on a TCP port."""
        probe = f"exec 3<>/dev/tcp/{addr}/{port}"
        self._probe(f"waiting for port {port}", probe, timeout)

    def wait_for_closed_port(self, port: int, addr: str = "localhost", timeout: int = 900) -> None:
        """Until nobody listens on a TCP port."""
        probe = f"exec 3<>/dev/tcp/{addr}/{port}"
        self._probe(f"waiting for port {port} to close", probe, timeout, wanted=False)

    def wait_for_open_unix_socket(
        self, addr: str, is_datagram: bool = False, timeout: int = 900
    ) -> None:
        """Until somebody listens on a unix socket."""
        kind = "SOCK_DGRAM" if is_datagram else "SOCK_STREAM"
        script = f"import socket as s; s.socket(s.AF_UNIX, s.{kind}).connect({addr!r})"
        self._probe(f"waiting for {addr}", f"python3 -c {shlex.quote(script)}", timeout)

    def systemctl(self, q: str) -> tuple[int, str]:
        """Run `systemctl`."""
        return self.execute(f"systemctl {q}")

    def get_unit_info(self, unit: str) -> dict[str, str]:
        """Every property of a unit."""
        shown = self.succeed(f"systemctl --no-pager show {shlex.quote(unit)}")
        return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)

    def get_unit_property(self, unit: str, property: str) -> str:
        """One property of a unit."""
        shown = self.succeed(
            f"systemctl --no-pager show {shlex.quote(unit)} --property={shlex.quote(property)}"
        )
        return shown.rstrip("\n").split("=", 1)[1]

    def wait_for_unit(self, unit: str, timeout: int = 900) -> None:
        """Until a unit is active; one that failed, or that nobody starts, is not waited for."""

        def active() -> bool:
            state = self.get_unit_property(unit, "ActiveState")
            if state == "failed":
                raise ExpectationFailed(f"unit {unit} has failed")
            # asked again after the jobs, since one may have ended between the two questions
            if (
                state == "inactive"
                and "No jobs" in self.systemctl("list-jobs --full 2>&1")[1]
                and self.get_unit_property(unit, "ActiveState") == state
            ):
                raise ExpectationFailed(f"unit {unit} is inactive and nothing starts it")
            return state == "active"

        self._until(f"waiting for unit {unit}", active, timeout)

    def require_unit_state(self, unit: str, require_state: str = "active") -> None:
        """A unit's state must be this now."""
        state = self.get_unit_property(unit, "ActiveState")
        if state != require_state:
            raise ExpectationFailed(f"unit {unit} is {state}, not {require_state}")
