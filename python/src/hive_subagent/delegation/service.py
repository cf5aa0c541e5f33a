"""The call of an owner that hands out several tasks at once."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hive_subagent.delegation.delegation import Assignment, Delegation
from hive_subagent.delegation.roles import Role
from hive_subagent.errors import Refused
from hive_subagent.messages.delegations import accepted
from hive_subagent.messages.launches import notices_go
from hive_subagent.messages.prompts import CHILD_NOTE
from hive_subagent.messages.text import near
from hive_subagent.models.replies import DelegatedChild, DelegateReply
from hive_subagent.models.session import SessionView, WaitPolicy
from hive_subagent.permissions import CHILD
from hive_subagent.sessions import checks, paths
from hive_subagent.sessions.executor import Executor
from hive_subagent.sessions.launch import Launch
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.prepare import Preparation
from hive_subagent.sessions.service import SessionService
from hive_subagent.sessions.store import SessionRecord, Unreadable

MOST_TASKS = 32

READING_S, WRITING_S = 120.0, 1800.0
"""Seconds that a child has where nobody says so: one that only reads, and one that works."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task as it was asked for."""

    task: str
    role: str
    name: str | None = None
    dir: str | None = None
    model: str | None = None
    timeout_s: float | None = None


@dataclass(frozen=True)
class _Asked:
    """The values that all tasks of a call share.

    `named` are the names that it asks for, `taken` those given so far. `directories` holds what
    each `dir` of the call means.
    """

    delegation: str
    named: frozenset[str]
    model: str | None
    dir: str | None
    timeout_s: float | None
    directories: Mapping[str, Path]
    taken: set[str] = field(default_factory=set)


class DelegationService:
    """The owner's side of delegation. Every refusal is a Refused with one line."""

    def __init__(
        self, executor: Executor, service: SessionService, roles: Mapping[str, Role]
    ) -> None:
        self._executor = executor
        self._service = service
        self._settings = executor.settings
        self._registry = executor.registry
        self._prepare = Preparation(executor.settings, executor.records, executor.registry)
        self._roles = roles
        self._current: Delegation | None = None
        # by role: the number at which the search for an unused name begins
        self._numbers: dict[str, int] = {}

    @property
    def roles(self) -> Mapping[str, Role]:
        """What a child can be, by name."""
        return self._roles

    async def delegate(
        self,
        tasks: Sequence[Task],
        *,
        model: str | None = None,
        dir: str | None = None,
        wait_policy: WaitPolicy = "all",
        timeout_s: float | None = None,
    ) -> tuple[DelegateReply, str]:
        """Hand each task to a child of its own; returns at once, with the queue filled.

        A child has the seconds of its task, else `timeout_s`, else what its role needs.
        """
        self._check(tasks)
        directories = {
            given: await paths.directory(given, base=self._settings.work_dir)
            for given in {task.dir or dir or "" for task in tasks}
        }
        # again: another call may have come between. Nothing waits from here on
        self._check(tasks)
        notice_id = str(uuid.uuid4())
        delegation_id = f"d:{notice_id[:8]}"
        named = frozenset(task.name for task in tasks if task.name is not None)
        asked = _Asked(delegation_id, named, model, dir, timeout_s, directories)
        timeouts = [
            self._seconds(f"task {number}", task, asked) for number, task in enumerate(tasks, 1)
        ]
        launches: list[Launch] = []
        try:
            for number, task in enumerate(tasks, 1):
                launches.append(self._launch(f"task {number}", task, asked))
            delegation = Delegation(
                delegation_id,
                notice_id,
                [
                    Assignment(launch, timeout_s=seconds)
                    for launch, seconds in zip(launches, timeouts, strict=True)
                ],
                policy=wait_policy,
                executor=self._executor,
            )
            delegation.promise()
        except BaseException:
            # whatever it is, no brief is left of children that will not begin
            self._prepare.forget(launches)
            raise
        self._current = delegation
        delegation.begin()
        reply = DelegateReply(
            delegation=delegation.id,
            names=[launch.record.name for launch in launches],
            children=[
                _child(view, seconds)
                for view, seconds in zip(delegation.views(), timeouts, strict=True)
            ],
            wait_policy=wait_policy,
            timeout_s=max(timeouts),
        )
        return reply, accepted(reply, notices_go(self._settings.sink_kinds))

    def _check(self, tasks: Sequence[Task]) -> None:
        self._service.check_serving()
        if self._settings.max_depth < 1:
            raise Refused(
                "max_depth is 0: this daemon does not delegate; `start` runs one by one",
                name="max_depth",
                limit=0,
            )
        if not 1 <= len(tasks) <= MOST_TASKS:
            raise Refused(
                f"{len(tasks)} tasks: give 1 to {MOST_TASKS} in one call",
                name="tasks",
                limit=MOST_TASKS,
            )
        current = self._current
        if current is not None and not current.over.is_set():
            raise Refused(
                f"delegation `{current.id}` is still going on: wait for it or interrupt it, then"
                " give all tasks in one call",
                kind="conflict",
                name=current.id,
            )

    def _role(self, which: str, task: Task) -> Role:
        role = self._roles.get(task.role)
        if role is None:
            known = ", ".join(self._roles)
            raise Refused(
                f"{which}: role {task.role[:80]!r} is unknown: use one of {known}"
                f"{near(task.role, self._roles)}",
                name="role",
            )
        return role

    def _seconds(self, which: str, task: Task, asked: _Asked) -> float:
        """The time that a child has. Raises Refused."""
        for seconds, where in ((task.timeout_s, f"{which}: "), (asked.timeout_s, "")):
            if seconds is None:
                continue
            if not 0 < seconds < math.inf:
                raise Refused(
                    f"{where}timeout_s {seconds} is out of range: give seconds above 0",
                    name="timeout_s",
                    limit=0,
                )
            return seconds
        return READING_S if self._role(which, task).only_reads else WRITING_S

    def _launch(self, which: str, task: Task, asked: _Asked) -> Launch:
        role = self._role(which, task)
        prompt = checks.check_text(which, task.task)
        name = self._name(task, role, asked)
        asked.taken.add(name)
        record = SessionRecord(
            name=name,
            session_id=str(uuid.uuid4()),
            dir=str(asked.directories[task.dir or asked.dir or ""]),
            ours=True,
            role=role.name,
            effort=role.effort,
            permissions=self._settings.ceiling.meet(role.permissions).meet(CHILD),
            depth=1,
            delegation=asked.delegation,
        )
        options = Options(model=task.model or asked.model or role.model)
        return self._prepare.new(record, prompt, options, (role.brief + CHILD_NOTE).encode())

    def _name(self, task: Task, role: Role, asked: _Asked) -> str:
        """The one that was asked for, or the first of the role's that was never used."""
        if task.name is not None:
            name = checks.check_name(task.name)
            if name in asked.taken:
                raise Refused(f"name `{name}` stands twice in this call: use another", name=name)
            self._registry.check_name_free(name)
            return name
        number = self._numbers.get(role.name, 1)
        taken = asked.taken | asked.named
        while not self._is_new(name := f"{role.name}-{number}", taken):
            number += 1
        self._numbers[role.name] = number
        return name

    def _is_new(self, name: str, taken: set[str]) -> bool:
        if name in taken or self._registry.running(name):
            return False
        try:
            return self._registry.record(name) is None
        except Unreadable as error:
            if error.now:
                raise
            return False


def _child(view: SessionView, timeout_s: float) -> DelegatedChild:
    return DelegatedChild(
        name=view.name,
        role=view.role or "",
        session_id=view.session_id,
        dir=view.dir,
        state=view.state,
        timeout_s=timeout_s,
    )
