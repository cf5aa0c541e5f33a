"""`/api/v1/doctor`: whether what the daemon depends on is in order, and what to do if not."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hive_subagent.claude.client import TESTED_VERSIONS
from hive_subagent.claude.invocation import child_environment
from hive_subagent.containment import Containment
from hive_subagent.errors import Refused
from hive_subagent.models.replies import Check, DoctorReport
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.checks import check_program
from hive_subagent.settings import Settings
from hive_subagent.system.blocking import in_thread

VERSION_S = 10.0
"""Seconds that `claude --version` may take."""

LEAST_FREE = 200 * 1024 * 1024
"""Bytes that should be free where the state lies."""

LEAST_INODES = 1000

_LOGINS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
)
_VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Doctor:
    """Looks when it is asked, and changes nothing."""

    settings: Settings
    containment: Containment
    outbox: Outbox

    async def report(self) -> DoctorReport:
        """All checks, in an order in which they can be put right."""
        checks = [
            *await self._looked("claude", self._claude),
            *await self._looked("directories", self._directories),
            *await self._looked("sinks", self._sinks),
            *self._containment(),
        ]
        return DoctorReport(ok=all(check.ok for check in checks), checks=checks)

    async def _looked(self, what: str, look: Callable[[], list[Check]]) -> list[Check]:
        """What a look that may block finds."""
        try:
            return await in_thread(look, what=f"doctor's look at {what}", timeout_s=2 * VERSION_S)
        except Refused as error:
            return [_bad(what, str(error), "see why it does not answer, then look again")]

    def _claude(self) -> list[Check]:
        try:
            program = check_program(self.settings.claude_bin, os.environ.get("PATH"))
        except Refused as error:
            fix = "install Claude Code, or set claude_bin to the path of the program"
            return [_bad("claude", str(error), fix)]
        environment = child_environment(
            os.environ,
            config_dir=self.settings.child_config_dir,
            further=self.settings.child_env,
        )
        version = _version(program, environment)
        found = [_good("claude", f"{program}")]
        if version is None:
            fix = f"run `{program} --version` by hand and see what it says"
            found.append(_bad("claude_version", f"{program} does not print its version", fix))
        elif version in TESTED_VERSIONS:
            found.append(_good("claude_version", version))
        else:
            tested = " and ".join(TESTED_VERSIONS)
            detail = f"{version} is not among those that were tested: {tested}"
            found.append(
                _bad("claude_version", detail, "use a tested one, or run the project's `make e2e`")
            )
        return [*found, self._login(environment)]

    def _login(self, environment: Mapping[str, str]) -> Check:
        given = [name for name in _LOGINS if environment.get(name)]
        file = self.settings.claude_config_dir / ".credentials.json"
        if given:
            return _good("claude_login", f"by {given[0]}")
        if file.exists():
            return _good("claude_login", f"by {file}")
        return _bad(
            "claude_login",
            f"none of {', '.join(_LOGINS)} is given to subagents, and {file} is not there",
            "log in as the daemon's user (`claude`, then /login), or give it a credential",
        )

    def _directories(self) -> list[Check]:
        places = {"state_dir": self.settings.state_dir, "runtime_dir": self.settings.runtime}
        found = [_private(key, path) for key, path in places.items()]
        work = self.settings.work_dir
        usable = os.path.isdir(work) and os.access(work, os.R_OK | os.W_OK | os.X_OK)
        fix = "make it, grant the daemon's user access, or set work_dir"
        found.append(
            _good("work_dir", str(work)) if usable else _bad("work_dir", f"{work}: no access", fix)
        )
        return [*found, *(_space(key, path) for key, path in places.items())]

    def _sinks(self) -> list[Check]:
        reasons = self.outbox.deliveries.problems
        found = []
        for key, reason in reasons.items():
            waiting = len(self.outbox.deliveries.waiting[key])
            problem = reason or _unreachable(key)
            name = f"sink {key}"
            if problem:
                fix = "start what takes them, or correct todo_sinks; they are kept until then"
                found.append(_bad(name, f"{problem}; {waiting} notices wait", fix))
            else:
                found.append(_good(name, f"{waiting} notices wait"))
        if not reasons:
            fix = "name one in todo_sinks, unless callers `wait` for every run"
            found.append(_bad("sinks", "there is none: notices are kept, nobody gets them", fix))
        return found

    def _containment(self) -> Iterator[Check]:
        form, reason = self.containment.kind, self.containment.reason
        if form == "cgroup":
            yield _good("containment", f"a cgroup for each run ({reason})")
        else:
            yield _bad(
                "containment",
                f"a process session for each run, without limits ({reason})",
                "run the daemon as a systemd unit with Delegate=yes",
            )
        if form == "cgroup":
            missing = sorted({"memory", "pids", "cpu"} - self.containment.controllers)
            yield (
                _bad("limits", f"not delegated: {', '.join(missing)}", "set Delegate=yes")
                if missing
                else _good("limits", "memory, pids and cpu are delegated")
            )


def _good(check: str, detail: str) -> Check:
    return Check(check=check, ok=True, detail=detail, fix=None)


def _bad(check: str, detail: str, fix: str) -> Check:
    return Check(check=check, ok=False, detail=detail, fix=fix)


def _version(program: str, environment: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            timeout=VERSION_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else None


def _private(key: str, path: Path) -> Check:
    try:
        found = path.stat()
    except OSError as error:
        return _bad(key, f"{path}: {error.strerror}", "put it back and restart the daemon")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        return _bad(key, f"{path} is open to others", f"chmod 700 {path}")
    if not os.access(path, os.W_OK | os.X_OK):
        return _bad(key, f"{path} cannot be written", "make its file system writable")
    return _good(key, str(path))


def _space(key: str, path: Path) -> Check:
    try:
        found = os.statvfs(path)
    except OSError as error:
        return _bad(f"{key}_space", f"{path}: {error.strerror}", "see that it is mounted")
    free, inodes = found.f_bavail * found.f_frsize, found.f_favail
    detail = f"{free // (1024 * 1024)} MiB free"
    # file systems without a fixed number of inodes report none at all
    if free < LEAST_FREE or (found.f_files and inodes < LEAST_INODES):
        return _bad(f"{key}_space", f"{detail}, {inodes} inodes", f"make room below {path}")
    return _good(f"{key}_space", detail)


def _unreachable(key: str) -> str | None:
    """What is wrong with a place that no notice has gone to yet."""
    kind, _, place = key.partition(":")
    if kind == "unix" and not Path(place).is_socket():
        return f"{place} is no socket"
    if kind == "dir":
        there = next(p for p in (Path(place), *Path(place).parents) if p.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            return f"{there} cannot be written"
    return None
