"""Background tasks: they outlive their turn, may open another, and hold the exit a while."""

from __future__ import annotations

import os
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import task_id, token
from hive_subagent_stub.shell import Shell, end_group
from hive_subagent_stub.tools import Outcome

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call


class Task:
    """One shell in the background."""

    def __init__(self, stub: Stub, call: Call, command: str) -> None:
        self.known: Json = {"task_id": task_id("b")}
        if not stub.version.old:
            self.known["run_id"] = token("0mx", 7) + "-" + token("", 8)
        self.tool_use_id = call.id
        self.description = str(call.given.get("description", "x"))
        self.command = command
        self.shell = Shell(stub, command)

    @property
    def id(self) -> str:
        """Its short name."""
        return str(self.known["task_id"])


class Tasks:
    """The running ones, and how many ended without the model having been told."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.running: list[Task] = []
        self.ended: list[Task] = []

    @property
    def fds(self) -> list[int]:
        """What to wait for."""
        return [fd for task in self.running for fd in task.shell.fds]

    def collect(self) -> None:
        """Take output, and announce those that ended."""
        for task in [task for task in self.running if task.shell.reap()]:
            self.running.remove(task)
            self.ended.append(task)
            self._announce(task, "completed" if task.shell.rc == 0 else "failed")

    def kill_all(self) -> list[Task]:
        """End every running one, with the lines that the CLI prints about it; gives them."""
        killed, self.running = self.running, []
        for task in killed:
            end_group(task.shell.pid)
            self._announce(task, "killed")
        return killed

    def open(self) -> list[Json]:
        """The tasks that go on, as the input of a Stop hook lists them (both versions alike)."""
        return [
            {
                "id": task.id,
                "type": "shell",
                "status": "running",
                "description": task.description,
                "command": task.command,
            }
            for task in self.running
        ]

    def origin(self) -> Json:
        """`origin` of the result of the turn that a task's end opens."""
        task = self.ended[0]
        self.ended.clear()
        if self._stub.version.old:
            return {"kind": "task-notification"}
        run_id = task.known["run_id"]
        return {"kind": "task-notification", "producer": "session-task", "runId": run_id}

    def _announce(self, task: Task, status: str) -> None:
        stub = self._stub
        patch = {"status": status, "end_time": int(time.time() * 1000)}
        stub.out.emit(shapes.system(stub, "task_updated", **task.known, patch=patch))
        stub.out.emit(
            shapes.system(
                stub,
                "task_notification",
                **task.known,
                tool_use_id=task.tool_use_id,
                status="stopped" if status == "killed" else status,
                output_file="",
                summary=task.description,
            )
        )
        if not stub.version.old:
            stub.out.emit(shapes.system(stub, "background_tasks_changed", tasks=[]))


def start(stub: Stub, call: Call, command: str) -> Outcome:
    """Start a shell in the background; its result is only where its output will be."""
    if stub.tasks is None:
        stub.tasks = Tasks(stub)
    task = Task(stub, call, command)
    stub.tasks.running.append(task)
    if not stub.version.old:
        entry = {**task.known, "task_type": "local_bash", "description": task.description}
        stub.out.emit(shapes.system(stub, "background_tasks_changed", tasks=[entry]))
    stub.out.emit(
        shapes.system(
            stub,
            "task_started",
            **task.known,
            tool_use_id=task.tool_use_id,
            description=task.description,
            **({} if stub.version.old else {"is_backgrounded": True}),
            task_type="local_bash",
        )
    )
    folder = os.environ.get("CLAUDE_CODE_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    place = f"{folder}/claude-{os.getuid()}/{os.path.basename(os.path.dirname(stub.session.path))}"
    output = f"{place}/{stub.session.id}/tasks/{task.id}.output"
    text = (
        f"Command running in background with ID: {task.id}. Output is being written to: {output}. "
        "You will be notified when it completes. To check interim output, use Read on that file "
        "path."
    )
    detail = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": task.id,
    }
    return Outcome(text, detail)
