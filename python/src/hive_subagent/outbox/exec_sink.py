"""`exec:PATH`: a program of the operator's that is given each notice on its stdin."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import anyio

from hive_subagent.containment.interface import Enclosure
from hive_subagent.errors import SubagentError
from hive_subagent.models.notices import Notice
from hive_subagent.outbox.sinks import NotAccepted, encode_notice
from hive_subagent.system.sanitize import on_one_line

TIMEOUT_S = 30.0
MOST_OUTPUT = 1024 * 1024
"""Bytes on stdout and stderr together; a program that writes more is ended."""

_KEPT = 4096
_SHOWN = 200
_TEMPORARY = (75, 125, 126, 127)
"""EX_TEMPFAIL of sysexits.h, and what a launcher or a shell says of a program that cannot run."""

_ENVIRONMENT = tuple(
    """
    PATH HOME USER LOGNAME SHELL LANG LC_* LOCALE_ARCHIVE TZ TZDIR TMPDIR XDG_*
    NIX_SSL_CERT_FILE SSL_CERT_FILE SSL_CERT_DIR
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    """.split()  # noqa: SIM905  (one name a word reads better than quoted ones)
)


class ExecSink:
    """A run of the program for each notice; accepted when it exits 0.

    It has no arguments, its own small environment, and `/` as its directory. `enclose` opens what
    holds the program and all that it starts, which ends with the program or after `timeout_s`.
    """

    def __init__(
        self,
        path: Path,
        enclose: Callable[[str], Enclosure],
        *,
        events: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.path = path
        self.events = events
        self._enclose = enclose
        self._timeout_s = timeout_s

    @property
    def key(self) -> str:
        return f"exec:{self.path}"

    def unfit(self) -> str:
        """Why the program is not run, with the fix; empty where it can be run.

        Whoever can write it, or replace it, could act as this daemon's user.
        """
        try:
            target = Path(os.path.realpath(self.path, strict=True))
            found = target.stat()
            if not stat.S_ISREG(found.st_mode):
                return f"{target} is not a regular file; name a program"
            if not os.access(target, os.X_OK):
                return f"{target} is not executable; chmod +x it"
            for place in (target, *target.parents, *self.path.parents):
                if problem := _writable_by_others(place):
                    return problem
        except OSError as error:
            return f"{self.path}: {error.strerror}; name a program"
        return ""

    async def deliver(self, notice: Notice) -> None:
        await self.send(notice.id, encode_notice(notice))

    async def send(self, name: str, line: bytes) -> None:
        """Run the program with one line on its stdin. Raises NotAccepted."""
        if problem := self.unfit():
            raise self._not_accepted(problem, reached=False)
        try:
            enclosure = self._enclose(f"sink-{uuid.uuid4().hex}")
        except (OSError, SubagentError) as error:
            raise self._not_accepted(str(error), reached=False) from None
        try:
            code, said = await self._run(enclosure, line)
        except OSError as error:
            raise self._not_accepted(
                f"cannot be started: {error.strerror}", reached=False
            ) from None
        finally:
            with anyio.CancelScope(shield=True):
                await enclosure.end()
            enclosure.close()
        if code is None:
            raise self._not_accepted(said, reached=True)
        if code != 0:
            how = f"exited {code}" if code > 0 else f"was ended by signal {-code}"
            raise self._not_accepted(
                f"{how}{': ' if said else ''}{said}", reached=code not in _TEMPORARY
            )

    def _not_accepted(self, reason: str, *, reached: bool) -> NotAccepted:
        return NotAccepted(f"{self.path}: {reason}", reached=reached, path=self.path)

    async def _run(self, enclosure: Enclosure, line: bytes) -> tuple[int | None, str]:
        """The exit code and the end of the output; None and a reason where it was ended."""
        environment = _scrubbed(os.environ) | dict(enclosure.environment)
        stdin = os.memfd_create("notice", os.MFD_CLOEXEC)  # of any length, and nobody waits
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.set_blocking(writing, True)
            _fill(stdin, line)
            process = subprocess.Popen(
                enclosure.launcher([str(self.path)]),
                stdin=stdin,
                stdout=writing,
                stderr=writing,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(stdin)
            os.close(writing)
        watched = _Watched(process, reading)
        try:
            enclosure.adopt(process.pid)
            with anyio.move_on_after(self._timeout_s):
                await watched.over.wait()
            if watched.flooded:
                return None, f"was ended: it wrote more than {MOST_OUTPUT} bytes"
            if watched.code is None:
                return None, f"was ended: it had not exited after {self._timeout_s:g} s"
            return watched.code, _shown(watched.output)
        finally:
            with anyio.CancelScope(shield=True):
                # before it is reaped: until then its pid and session cannot be anybody else's
                await enclosure.end()
            watched.close()


class _Watched:
    """A process until its exit, and the last of what it wrote."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int) -> None:
        self.over = anyio.Event()
        self.code: int | None = None
        self.flooded = False
        self.output = b""
        self._written = 0
        self._process = process
        self._reading = reading
        self._loop = asyncio.get_running_loop()
        self._pidfd = os.pidfd_open(process.pid)
        self._loop.add_reader(self._pidfd, self._exited)
        self._loop.add_reader(self._reading, self._read)

    def _exited(self) -> None:
        found = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if found is None:
            return
        self._loop.remove_reader(self._pidfd)
        self._read()
        by_signal = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
        self.code = -found.si_status if by_signal else found.si_status
        self.over.set()

    def _read(self) -> None:
        try:
            data = os.read(self._reading, 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._reading)
            return
        self._written += len(data)
        self.output = (self.output + data)[-_KEPT:]
        if self._written > MOST_OUTPUT:
            self._loop.remove_reader(self._reading)
            self.flooded = True
            self.over.set()

    def close(self) -> None:
        """Reap the process, which must have been ended, and give back the descriptors."""
        self._loop.remove_reader(self._pidfd)
        self._loop.remove_reader(self._reading)
        with suppress(ChildProcessError):
            found = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG)
            if found is not None:
                self._process.returncode = found.si_status
        os.close(self._pidfd)
        os.close(self._reading)


def _fill(descriptor: int, content: bytes) -> None:
    with open(descriptor, "r+b", closefd=False) as file:
        file.write(content)
        file.seek(0)


def _writable_by_others(place: Path) -> str:
    found = place.stat()
    if found.st_uid not in (0, os.geteuid()):
        return f"{place} belongs to uid {found.st_uid}; it must be root's or the daemon's user's"
    # in a directory with the sticky bit nobody can replace what belongs to others
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        return f"{place} can be written by others; chmod go-w it"
    return ""


def _scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if any(fnmatchcase(name, pattern) for pattern in _ENVIRONMENT)
    }


def _shown(output: bytes) -> str:
    """The last line that is not blank, cut."""
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return on_one_line(lines[-1].strip()[:_SHOWN]) if lines else ""
