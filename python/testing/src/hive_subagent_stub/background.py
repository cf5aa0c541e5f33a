"""Background tasks: they outlive their turn, open others, and hold the exit a while."""

from __future__ import annotations

import os
import shlex
import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import task_id, token
from hive_subagent_stub.shell import Shell, end_group
from hive_subagent_stub.tools import Outcome

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.tools import Call
    from hive_subagent_stub.turn import Turn

_HOOK_TYPES = {"agent": "subagent"}


class Task:
    """One shell, watch or agent in the background; an agent's shell is the time that it takes."""

    def __init__(self, stub: Stub, call: Call, command: str, kind: str = "shell") -> None:
        self.known: Json = {"task_id": task_id("a" if kind == "agent" else "b")}
        if not stub.version.old:
            self.known["run_id"] = token("0mx", 7) + "-" + token("", 8)
        self.kind = kind
        self.tool_use_id = call.id
        self.description = str(call.given.get("description", "x"))
        self.command = command
        self.shell = Shell(stub, command)
        self.shown = 0  # characters of a watch's output that were told
        self.steps: list[Step] = []  # what an agent does, once its time has come
        self.inner: Json = {}

    @property
    def id(self) -> str:
        """Its short name."""
        return str(self.known["task_id"])

    def entry(self) -> Json:
        """As `background_tasks_changed` lists it."""
        agent = {"subagent_type": "general-purpose"} if self.kind == "agent" else {}
        kind = "local_agent" if self.kind == "agent" else "local_bash"
        return {**self.known, "task_type": kind, **agent, "description": self.description}

    def for_hooks(self) -> Json:
        """As a Stop hook is told of it."""
        further = (
            {"agent_type": "general-purpose"} if self.kind == "agent" else {"command": self.command}
        )
        kind = _HOOK_TYPES.get(self.kind, self.kind)
        about = {"id": self.id, "type": kind, "status": "running"}
        return {**about, "description": self.description, **further}


class Tasks:
    """The running ones, those that ended without the model having been told, and what watches saw.

    Measured: of an end the model is told at the next step of the turn that goes on, or in a turn of
    its own; of one that was stopped, not at all.
    """

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self.running: list[Task] = []
        self.ended: list[Task] = []
        self.events: list[str] = []
        self.ready: list[Task] = []  # agents whose time has come

    @property
    def fds(self) -> list[int]:
        """What to wait for."""
        return [fd for task in self.running if task.shell.rc is None for fd in task.shell.fds]

    def collect(self) -> None:
        """Take output, and announce those that ended."""
        for task in [task for task in self.running if task.shell.rc is None]:
            over = task.shell.reap()
            if task.kind == "monitor":
                self._watch(task, over)
            if over and task.kind == "agent":
                self.ready.append(task)
            elif over:
                self.finish(task, "completed" if task.shell.rc == 0 else "failed")

    def _watch(self, task: Task, over: bool) -> None:
        output = task.shell.output + ("\n" if over else "")
        whole = output.rfind("\n") + 1
        self.events += [line for line in output[task.shown : whole].split("\n") if line]
        task.shown = max(task.shown, whole)

    def play_agent(self) -> None:
        """What an agent does and says, all at once; then it has ended."""
        from hive_subagent_stub.steps import perform
        from hive_subagent_stub.turn import Turn

        task = self.ready.pop(0)
        turn = Turn(self._stub, None)
        turn.inner, turn.steps = task.inner, list(task.steps)
        while turn.steps:
            perform(self._stub, turn, turn.steps.pop(0))
        self.finish(task, "completed")

    def finish(self, task: Task, status: str, *, noted: bool = True) -> None:
        """Take one out of the running, with the lines that the CLI prints about it.

        `noted`: its session knows that afterwards.
        """
        stub, old = self._stub, self._stub.version.old
        self.running.remove(task)
        if noted:
            stub.session.attach("stub_task_ended", task_id=task.id)
        if status != "killed":
            self.ended.append(task)
        patch = {"status": status, "end_time": int(time.time() * 1000)}
        stub.out.emit(shapes.system(stub, "task_updated", **task.known, patch=patch))
        if not old or status == "killed":
            self._notify(task, "stopped" if status == "killed" else status)
        self._list()

    def _notify(self, task: Task, status: str) -> None:
        told = {"tool_use_id": task.tool_use_id, "status": status, "output_file": ""}
        line = {**task.known, **told, "summary": task.description}
        self._stub.out.emit(shapes.system(self._stub, "task_notification", **line))

    def _list(self) -> None:
        if not self._stub.version.old:
            tasks = [task.entry() for task in self.running]
            line = shapes.system(self._stub, "background_tasks_changed", tasks=tasks)
            self._stub.out.emit(line)

    def begin(self, task: Task) -> None:
        """Announce one."""
        stub = self._stub
        self.running.append(task)
        stub.session.attach("stub_task", task_id=task.id, tool_use_id=task.tool_use_id)
        self._list()
        entry = task.entry()
        line = {**task.known, "tool_use_id": task.tool_use_id, "description": task.description}
        if not stub.version.old:
            line["is_backgrounded"] = True
        for key in ("subagent_type", "task_type"):
            if key in entry:
                line[key] = entry[key]
        stub.out.emit(shapes.system(stub, "task_started", **line))

    def kill_all(self, *, noted: bool = False) -> list[Task]:
        """End every running one, with the lines that the CLI prints about it; gives them."""
        return self._kill(self.running, noted=noted)

    def kill_agents(self) -> None:
        """What an interrupt does where no turn goes on."""
        self._kill([task for task in self.running if task.kind == "agent"], noted=True)

    def _kill(self, tasks: list[Task], *, noted: bool) -> list[Task]:
        killed = list(tasks)
        for task in killed:
            if task.shell.rc is None:
                end_group(task.shell.pid)
            self.finish(task, "killed", noted=noted)
        return killed

    def tell_within(self, turn: Turn) -> None:
        """The model reads at a step of what has ended meanwhile; no turn is opened for it."""
        stub, ended = self._stub, self.ended
        self.ended = []
        for task in ended:
            text = (
                f"<task-notification>\n<task-id>{task.id}</task-id>\n"
                f"<tool-use-id>{task.tool_use_id}</tool-use-id>\n<status>completed</status>\n"
                "</task-notification>"
            )
            turn.seen.append(text)
            if stub.options.replay:
                line = shapes.replay(stub, text, uuid=None, at="")
                stub.out.emit(line if stub.version.old else line | {"origin": self._origin(task)})

    def origin(self) -> Json:
        """`origin` of the result of the turn that an event, or a task's end, opens."""
        if self.events:
            self.events.clear()
            return self._origin(None)
        task = self.ended.pop(0)
        if self._stub.version.old and task not in self.running:
            self._notify(task, "completed" if task.shell.rc == 0 else "failed")
        return self._origin(task)

    def _origin(self, task: Task | None) -> Json:
        origin: Json = {"kind": "task-notification"}
        if not self._stub.version.old:
            origin["producer"] = "session-task"
            if task is not None:
                origin["runId"] = task.known["run_id"]
        return origin


def _tasks(stub: Stub) -> Tasks:
    if stub.tasks is None:
        stub.tasks = Tasks(stub)
    return stub.tasks


def start(stub: Stub, call: Call, command: str) -> Outcome:
    """Start a shell in the background; its result is only where its output will be."""
    task = Task(stub, call, command)
    _tasks(stub).begin(task)
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


def watch(stub: Stub, call: Call) -> Outcome:
    """Start a watch: each line of its output opens a turn. 2.1.197 has none."""
    if stub.version.old:
        text = (
            "Error: No such tool available: Monitor. Monitor exists but is not enabled in this"
            " context. Use one of the available tools instead."
        )
        return Outcome(f"<tool_use_error>{text}</tool_use_error>", text, is_error=True)
    command = str(call.given["command"])
    task = Task(stub, call, command, "monitor")
    _tasks(stub).begin(task)
    text = f"Monitor started (task {task.id}). You will be notified on each event."
    return Outcome(text, {"taskId": task.id, "persistent": False}, is_error=None)


def stop(stub: Stub) -> Outcome:
    """What the model does to end all of it; no turn tells of that."""
    stopped = stub.tasks.kill_all(noted=True) if stub.tasks is not None else []
    text = f"Successfully stopped {len(stopped)}"
    return Outcome(text, {"message": text}, is_error=None)


def send_agent(stub: Stub, call: Call, step: Step, inner: Json) -> Outcome:
    """Start an agent: it works once `seconds` are over and `gate` is there."""
    command = f"exec perl -e 'select undef, undef, undef, {float(step.get('seconds', 0))}'"
    if gate := step.get("gate"):
        pause = "perl -e 'select undef, undef, undef, 0.01'"
        command = f"until [ -e {shlex.quote(str(gate))} ]; do {pause}; done"
    task = Task(stub, call, command, "agent")
    task.steps, task.inner = list(step["subagent"]), inner
    _tasks(stub).begin(task)
    content = [{"type": "text", "text": f"Async agent launched successfully.\nagentId: {task.id}"}]
    detail = {"isAsync": True, "status": "async_launched", "agentId": task.id}
    return Outcome(content, detail, is_error=None)
