"""One stand-in process: what its parts share, and how it waits."""

from __future__ import annotations

import os
import signal
import time

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import Aborted, Exit
from hive_subagent_stub.hooks import Hooks
from hive_subagent_stub.ids import token
from hive_subagent_stub.inbox import Inbox
from hive_subagent_stub.permissions import Permissions
from hive_subagent_stub.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hive_subagent_stub._types import Json
    from hive_subagent_stub.args import Options
    from hive_subagent_stub.background import Tasks
    from hive_subagent_stub.loop import Loop
    from hive_subagent_stub.mcp import Server
    from hive_subagent_stub.output import Output
    from hive_subagent_stub.script import Script
    from hive_subagent_stub.session import Session
    from hive_subagent_stub.turn import Turn


class Stub:
    """Everything a step may need. `turn` is the running turn, None between turns."""

    def __init__(
        self,
        options: Options,
        *,
        version: Version,
        session: Session,
        out: Output,
        loop: Loop,
        settings: Json,
    ) -> None:
        self.options = options
        self.version = version
        self.session = session
        self.out = out
        self.loop = loop
        self.settings = settings
        self.permissions = Permissions(options, settings, old=version.old)
        self.hooks = Hooks(self, settings)
        self.inbox = Inbox(self)
        self.servers: dict[str, Server] = {}
        self.tasks: Tasks | None = None
        self.tool_pid: int | None = None  # the running foreground shell: pid = pgid = sid
        self.turn: Turn | None = None
        self.turns = 0
        self.told = 0  # turns since the last message that background work has opened
        self.results = 0
        self.requests = 0
        self.cost_base = session.cost_usd if version.sums_cost_over_resume else 0.0
        self.last_failed = False
        self.ignores_interrupt = False
        self.brief = ""
        self.script: Script | None = None  # of the newest message
        self.last_text = ""
        self.last_result: Json = {}
        self.mcp_config: Json = {}
        self.linger_s: float | None = None
        self.background_grace_s: float | None = None  # as the version has it
        self.ballast: list[bytearray] = []  # memory held by eat_memory
        self.model = version.model
        self.use_model(options.model or session.model or "default")

    def become(self, version: str) -> None:
        """Behave as another version from here on; the environment's choice is stronger."""
        if version != self.version.name and not os.environ.get("HIVE_SUBAGENT_STUB_VERSION"):
            self.version = self.session.version = Version(version)
            self.permissions.old = self.version.old
            self.use_model(self.options.model or self.session.model or "default")

    def use_model(self, name: str) -> None:
        """Resolve an alias; `default` is the version's own."""
        self.model = self.version.aliases.get(name, name)
        if name == "default":
            self.model = self.version.model

    @property
    def total_cost_usd(self) -> float:
        """Of this process; since 2.1.332 of the whole session."""
        return self.cost_base + self.requests * self.version.usd_per_request

    def request_id(self) -> str:
        """The identifier of an API request."""
        return token("req_stub_", 12)

    def mcp_statuses(self) -> list[Json]:
        """`mcp_servers` of init."""
        found: list[Json] = []
        for name, server in self.servers.items():
            found.append({"name": name, "status": server.status})
            if not self.version.old:
                found[-1]["source"] = server.transport.source
        return found

    def background_tasks(self) -> list[Json]:
        """The open background tasks, as a Stop hook is told of them."""
        return [task.for_hooks() for task in self.tasks.running] if self.tasks else []

    def mcp_tools(self) -> list[str]:
        """The tools that connected servers offer, by the names a model sees."""
        return [f"mcp__{n}__{t}" for n, server in self.servers.items() for t in server.tools]

    def wait(self, until: float | None, fds: Iterable[int] = ()) -> set[int]:
        """Wait for one of `fds` or the time `until` (monotonic; None: for ever), serving stdin.

        Raises Aborted when the turn is cut, Exit when a signal or a bad line ends the process.
        """
        while True:
            if ready := self.step(until, fds):
                return ready
            if until is not None and time.monotonic() >= until:
                return set()

    def step(self, until: float | None, fds: Iterable[int] = ()) -> set[int]:
        """Like `wait`, but returns after anything at all has happened."""
        self.check()
        background = self.tasks.fds if self.tasks is not None else []
        ready = self.loop.pump(until, [*fds, *background])
        if self.tasks is not None and not ready.isdisjoint(background):
            self.tasks.collect()
        self.check()
        return ready.difference(background)

    def listen(self) -> None:
        """Catch signals from here on; 2.1.197 only SIGTERM before its first init."""
        self.loop.catch(signal.SIGTERM)
        if self.version.handles_signals_before_init or self.turn is not None or self.results:
            self.loop.catch(signal.SIGINT, signal.SIGHUP)

    def check(self) -> None:
        """Act on what arrived: signals, a bad line, an interrupt, a message of priority `now`."""
        while self.loop.signals:
            self._signal(self.loop.signals.pop(0))
        if self.inbox.bad_line is not None:
            import sys

            print(self.inbox.bad_line, file=sys.stderr, flush=True)
            raise Exit(1)
        if self.turn is None or self.turn.closing:
            return
        if self.inbox.interrupted:
            self.inbox.interrupted = False
            raise Aborted("interrupt")
        if self.turn.open_to_now and any(m.priority == "now" for m in self.inbox.queue):
            raise Aborted("now")

    def _signal(self, number: int) -> None:
        if number == signal.SIGINT:
            if self.turn is not None and self.turn.in_tool and not self.turn.closing:
                raise Aborted("sigint")
            if self.tasks is not None:
                self.tasks.kill_all()
            raise Exit(0)
        if number == signal.SIGTERM:
            if self.version.kills_tool_on_sigterm:
                self.kill_tool()
            if self.tasks is not None:
                self.tasks.kill_all()
            raise Exit(143)
        if number == signal.SIGHUP:
            raise Exit(129)

    def kill_tool(self) -> None:
        """End the foreground shell and its group; what called setsid itself stays alive."""
        if self.tool_pid is not None:
            from hive_subagent_stub.shell import end_group

            pid, self.tool_pid = self.tool_pid, None
            end_group(pid)
