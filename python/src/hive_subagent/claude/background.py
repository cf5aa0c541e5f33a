"""Which background tasks of one claude are open, from what it prints.

Since about 2.1.330 claude prints the whole list whenever it changes. 2.1.197 does not: there a task
is in the background once its tool has a result that names it, and until it is said to have ended.
Both also give the list to Stop hooks, just before each result. Claude tells its model of a task's
end by itself: within the turn, or by opening another one (measured with 2.1.197 and 2.1.332).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hive_subagent.models.session import BackgroundTask
from hive_subagent.system.sanitize import on_one_line

Event = Mapping[str, Any]

MOST_TASKS = 100
"""Tasks that are followed at once; the turn is held by these alone."""

MOST_SHOWN = 20
"""Tasks that an answer lists."""

MOST_ANNOUNCED = 1_000
"""Tasks that may yet turn out to be in the background."""

TEXT_LIMIT = 200
"""Characters of a description that are passed on."""

ID_LIMIT = 200
"""Characters of an id that are compared."""

_KINDS = {
    "local_agent": "agent",
    "subagent": "agent",
    "local_bash": "shell",
    "shell": "shell",
    "local_workflow": "workflow",
    "workflow": "workflow",
    "monitor": "monitor",
    "Monitor": "monitor",
}
_ENDED = frozenset({"completed", "failed", "killed", "stopped"})
# the model is not told of a task that was stopped, by itself or by an interrupt
_UNTOLD = frozenset({"killed", "stopped"})
_NOTICE = re.compile(r"<task-id>([^<]{1,100})</task-id>")


@dataclass(frozen=True)
class Task:
    """One background task; `since` is monotonic seconds, `run_id` claude's name of its run.

    `parent` is the task of the agent that started it, where that is no main agent.
    """

    kind: str
    description: str
    since: float
    run_id: str | None = None
    parent: str | None = None


@dataclass
class Background:
    """Feed it events; `open` holds the tasks that go on, `owed` those whose end is yet to be told.

    `cut` are those that were ended between two turns, where the model ends none: claude ends them
    when it is on its way out, by a signal say.

    `owed` are ids of ended tasks, the oldest first: claude opens a turn for each of them, unless
    the turn that goes on reads of it.
    """

    clock: Callable[[], float] = time.monotonic
    open: dict[str, Task] = field(default_factory=dict)
    owed: dict[str, Task] = field(default_factory=dict)
    cut: dict[str, Task] = field(default_factory=dict)
    # announced by 2.1.197, which does so for what is in the foreground too
    _announced: dict[str, Task] = field(default_factory=dict)
    _lists: bool = False

    def system(self, event: Event, tool: str | None = None, *, working: bool = True) -> None:
        """Take in a `system` line.

        `tool` is the name of the tool call it names, where known; `working` says that a turn goes
        on.
        """
        match event.get("subtype"):
            case "background_tasks_changed":
                self._lists = True
                self._list(_objects(event.get("tasks")), "task_id", "task_type")
            case "task_started":
                self._started(event, tool)
            case "task_updated":
                patch = event.get("patch")
                if isinstance(patch, Mapping):
                    self._status(_id(event.get("task_id")), patch.get("status"), working)
            case "task_notification":
                self._status(_id(event.get("task_id")), event.get("status"), working)

    def tool_result(self, result: object) -> None:
        """Take in what a tool's result says to programs: 2.1.197 names a background task there."""
        if not isinstance(result, Mapping):
            return
        task_id = result.get("backgroundTaskId")
        if result.get("isAsync") is True or result.get("status") == "async_launched":
            task_id = result.get("agentId")
        if isinstance(task_id, str):
            task_id = _id(task_id)
            if (task := self._announced.pop(task_id, None)) is not None:
                self._open(task_id, task)

    def stop_hook(self, asked: Event) -> None:
        """Take in the input of a Stop hook of the main agent, which lists the open tasks."""
        tasks = asked.get("background_tasks")
        if isinstance(tasks, list):
            self._list(_objects(tasks), "id", "type")

    def told(self, content: object) -> None:
        """Within its turn the model reads `content`, which may tell of an ended task."""
        if isinstance(content, str) and content.startswith("<task-notification>"):
            for task_id in _NOTICE.findall(content):
                self.owed.pop(task_id, None)

    def result(self, event: Event) -> None:
        """Take in a result of the main agent: that of a turn which tells of a task's end?"""
        # what was announced and is not in the background by now never will be
        self._announced.clear()
        # claude goes on: it was not on its way out
        self.cut.clear()
        origin = event.get("origin")
        if not isinstance(origin, Mapping) or origin.get("kind") != "task-notification":
            return
        if "producer" not in origin:  # 2.1.197 does not say which one
            first = next(iter(self.owed), None)
        else:
            run_id = _text(origin.get("runId"))
            first = next((i for i, task in self.owed.items() if task.run_id == run_id), None)
        if first is not None:
            del self.owed[first]

    def shown(self) -> list[BackgroundTask]:
        """The open tasks with their ages, oldest first, as many as an answer lists.

        Those that were cut are among them: they have not come to their end.
        """
        return shown([*self.open.values(), *self.cut.values()], self.clock())

    def _started(self, event: Event, tool: str | None) -> None:
        task_id = _id(event.get("task_id"))
        known = self.open.get(task_id)
        kind = _kind(tool if tool in _KINDS else event.get("task_type"))
        if known is not None:
            self.open[task_id] = replace(known, kind=kind, run_id=_text(event.get("run_id")))
        elif (
            not self._lists
            and event.get("is_backgrounded") is None
            and len(self._announced) < MOST_ANNOUNCED
        ):
            self._announced[task_id] = self._task(event, kind)

    def _status(self, task_id: str, status: object, working: bool) -> None:
        if status not in _ENDED:
            return
        self._announced.pop(task_id, None)
        task = self.open.pop(task_id, None)
        if status not in _UNTOLD:
            if task is not None:
                self._owe(task_id, task)
        elif task is not None and task.kind == "monitor" and not working:
            # nobody has stopped it, its time was up; the turn that tells of it names no run
            self._owe(task_id, replace(task, run_id=None))
        elif task is not None and not working and len(self.cut) < MOST_TASKS:
            self.cut[task_id] = task

    def _owe(self, task_id: str, task: Task) -> None:
        self.owed[task_id] = task
        if len(self.owed) > MOST_TASKS:
            del self.owed[next(iter(self.owed))]

    def _list(self, tasks: Iterable[Event], id_key: str, kind_key: str) -> None:
        listed = {_id(task.get(id_key)): task for task in tasks}
        for task_id in [task_id for task_id in self.open if task_id not in listed]:
            del self.open[task_id]
        for task_id, task in listed.items():
            kind = _kind(task.get(kind_key))
            if (known := self.open.get(task_id)) is None:
                announced = self._announced.pop(task_id, None)
                self._open(task_id, self._task(task, kind) if announced is None else announced)
            elif kind == "monitor":  # only hooks tell it from a shell
                self.open[task_id] = replace(known, kind=kind)

    def _open(self, task_id: str, task: Task) -> None:
        # an agent that goes on has been told of the tasks that it had started itself
        told = [i for i, ended in self.owed.items() if i == task_id or ended.parent == task_id]
        for ended in told:
            del self.owed[ended]
        if len(self.open) < MOST_TASKS:
            self.open[task_id] = task

    def _task(self, event: Event, kind: str) -> Task:
        said = event.get("description") or event.get("command") or ""
        description = on_one_line(str(said)[: 2 * TEXT_LIMIT])[:TEXT_LIMIT]
        return Task(
            kind,
            description,
            self.clock(),
            run_id=_text(event.get("run_id")),
            parent=_text(event.get("parent_task_id")),
        )


def shown(tasks: Iterable[Task], now: float) -> list[BackgroundTask]:
    """Tasks as answers list them, oldest first; `now` is of the clock of their beginnings."""
    told = [
        BackgroundTask(
            kind=task.kind, description=task.description, age_s=round(max(0.0, now - task.since), 3)
        )
        for task in tasks
    ]
    return sorted(told, key=lambda task: -task.age_s)[:MOST_SHOWN]


def _kind(said: object) -> str:
    return _KINDS.get(str(said)) or on_one_line(str(said))[:TEXT_LIMIT]


def _objects(value: object) -> list[Event]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _id(value: object) -> str:
    return str(value)[:ID_LIMIT]


def _text(value: object) -> str | None:
    return _id(value) if isinstance(value, str) else None
