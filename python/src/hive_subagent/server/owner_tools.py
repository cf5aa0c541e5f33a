"""The MCP server `subagent`: the tools of the owning agent.

Each tool answers with a text that explains itself and the same as structured content.
"""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from hive_subagent import __version__
from hive_subagent.claude.client import IN_PLAN_MODE
from hive_subagent.delegation.service import MOST_TASKS, DelegationService, Task
from hive_subagent.intervention.service import InterventionService
from hive_subagent.models.replies import (
    DelegateReply,
    InterruptReply,
    InterveneReply,
    StartReply,
    WaitReply,
)
from hive_subagent.models.session import InterventionKind, WaitPolicy
from hive_subagent.models.transcript import TranscriptReply
from hive_subagent.server.mcp_server import OptionalText, PreciseServer, answering
from hive_subagent.sessions.groups import is_group
from hive_subagent.sessions.options import Options
from hive_subagent.sessions.service import SessionService

INSTRUCTIONS = (
    "Hands bounded work to nested claude sessions: `start` one under a name, `wait` for its end,"
    " `continue` it with what comes next, or `delegate` several tasks at once. `wait` says how"
    " each run ended, and so does `status` afterwards."
)

NewName = Annotated[str, Field(description="1 to 63 of a-z, 0-9 and -")]
NameOrDelegation = Annotated[str, Field(description="subagent, or id of a delegation")]
Model = Annotated[OptionalText, Field(description="claude's model")]
Goal = Annotated[
    OptionalText,
    Field(description="go on over turns until the subagent itself reports this reached"),
]
MaxTurns = Annotated[int | None, Field(description="most turns, with a goal")]
ReportFile = Annotated[OptionalText, Field(description="file to append each ending to")]
MemoryMax = Annotated[
    str | int | None, Field(description="bytes or 512M style; can only lower the operator's limit")
]
TurnTimeout = Annotated[float | None, Field(description="longest turn")]
BackgroundWait = Annotated[
    float | None, Field(description="longest wait for background work after an answer")
]
Dir = Annotated[OptionalText, Field(description="directory to work in")]


class TaskGiven(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: Annotated[str, Field(description="what to do, whole: the child knows nothing else")]
    role: str
    name: Annotated[str | None, Field(description="none: the role with a number")] = None
    dir: str | None = None
    model: str | None = None
    timeout_s: float | None = None

    def asked(self) -> Task:
        """As the delegation takes it."""
        return Task(**self.model_dump())


def build_agent_server(
    service: SessionService,
    interventions: InterventionService,
    delegations: DelegationService,
    agent_name: str | None = None,
) -> MCPServer:
    """The owner's server; one per app, since its session manager runs once.

    With `agent_name` it serves the calls that name this agent in their header, and no other.
    """
    server = PreciseServer(
        "subagent", version=__version__, instructions=INSTRUCTIONS, agent_name=agent_name
    )

    @server.tool(name="start")
    async def start(
        name: NewName,
        prompt: Annotated[
            OptionalText, Field(description="the subagent's instructions; or give prompt_file")
        ] = None,
        prompt_file: Annotated[OptionalText, Field(description="file with them")] = None,
        model: Model = None,
        trigger: Annotated[
            OptionalText, Field(description="first message, if not the usual")
        ] = None,
        dir: Dir = None,
        goal: Goal = None,
        max_turns: MaxTurns = None,
        report_file: ReportFile = None,
        memory_max: MemoryMax = None,
        turn_timeout_s: TurnTimeout = None,
        background_wait_s: BackgroundWait = None,
    ) -> Annotated[CallToolResult, StartReply]:
        """Start a new subagent in the background. A finished one of that name is archived."""
        return await answering(
            service.start(
                name,
                prompt_file,
                prompt=prompt,
                trigger=trigger,
                dir=dir,
                options=Options(
                    model,
                    goal,
                    max_turns,
                    report_file,
                    memory_max,
                    turn_timeout_s,
                    background_wait_s,
                ),
            )
        )

    @server.tool(name="continue")
    async def continue_(
        name: str,
        prompt: Annotated[str, Field(description="what to do next")],
        model: Model = None,
        dir: Annotated[
            OptionalText, Field(description="where it was started, if not by this daemon")
        ] = None,
        goal: Goal = None,
        max_turns: MaxTurns = None,
        report_file: ReportFile = None,
        memory_max: MemoryMax = None,
        turn_timeout_s: TurnTimeout = None,
        background_wait_s: BackgroundWait = None,
    ) -> Annotated[CallToolResult, StartReply]:
        """Give a session that is not running its next prompt, however its last run ended."""
        return await answering(
            service.continue_(
                name,
                prompt,
                dir=dir,
                options=Options(
                    model,
                    goal,
                    max_turns,
                    report_file,
                    memory_max,
                    turn_timeout_s,
                    background_wait_s,
                ),
            )
        )

    # one shape with a name and another without: no single output schema says that
    @server.tool(name="status", structured_output=False, annotations=IN_PLAN_MODE)
    async def status(
        name: Annotated[
            OptionalText, Field(description="subagent, or id of a delegation; none: all")
        ] = None,
    ) -> CallToolResult:
        """Say how a subagent is doing, or how it ended and what it answered."""
        if name is None:
            return await answering(service.status_of_all())
        if is_group(name):
            return await answering(service.status_of_group(name))
        return await answering(service.status(name))

    @server.tool(name="transcript", annotations=IN_PLAN_MODE)
    async def transcript(
        name: str,
        last: Annotated[int, Field(description="most entries")] = 20,
        before: Annotated[int | None, Field(description="a position")] = None,
        search: Annotated[OptionalText, Field(description="text in them")] = None,
    ) -> Annotated[CallToolResult, TranscriptReply]:
        """Show the last of what a subagent was told, said and did."""
        return await answering(service.transcript(name, last=last, before=before, search=search))

    @server.tool(name="interrupt")
    async def interrupt(
        name: NameOrDelegation,
        force: Annotated[bool, Field(description="kill at once")] = False,
    ) -> Annotated[CallToolResult, InterruptReply]:
        """Stop a running subagent and all it started; the session can be continued."""
        return await answering(service.interrupt(name, force=force))

    @server.tool(name="wait", annotations=IN_PLAN_MODE)
    async def wait(
        ctx: Context,
        names: Annotated[
            list[str] | None, Field(description="subagents, ids of delegations; none: all")
        ] = None,
        until: Literal["all", "any"] = "all",
        timeout_s: Annotated[float, Field(description="seconds; hours are fine")] = 60,
    ) -> Annotated[CallToolResult, WaitReply]:
        """Wait until subagents have ended, and say how and what they answered."""

        async def progress(waited_s: float, running: int) -> None:
            message = f"{running} running after {waited_s:.0f} s"
            await ctx.report_progress(waited_s, timeout_s, message)

        return await answering(
            service.wait(names, until=until, timeout_s=timeout_s, progress=progress)
        )

    @server.tool(name="intervene")
    async def intervene(
        name: str,
        kind: Annotated[
            InterventionKind,
            Field(description="stop after this step, redirect its plan, or info in passing"),
        ],
        text: Annotated[str, Field(description="reason, instruction or information")],
        now: Annotated[bool, Field(description="redirect: cut what it does now")] = False,
    ) -> Annotated[CallToolResult, InterveneReply]:
        """Tell a running subagent something before its turn ends."""
        return await answering(interventions.intervene(name, kind, text, now=now))

    _add_delegate(server, delegations)
    return server


def _add_delegate(server: MCPServer, delegations: DelegationService) -> None:
    roles = "; ".join(f"`{role.name}` {role.description}" for role in delegations.roles.values())
    description = (
        f"Hand out 1 to {MOST_TASKS} tasks at once, each to a child with a context window of its"
        " own, and return; `wait` for their answers. No child has more permission than this"
        f" daemon's configuration allows. Roles: {roles}."
    )

    # a schema that lists the roles there are; an unknown one is refused by us, with those near it
    class OfKnownRole(TaskGiven):
        role: Annotated[str, Field(json_schema_extra={"enum": list(delegations.roles)})]

    async def delegate(
        tasks: list[TaskGiven],
        model: Annotated[OptionalText, Field(description="for all")] = None,
        dir: Annotated[OptionalText, Field(description="for all")] = None,
        wait_policy: Annotated[
            WaitPolicy, Field(description="fail_fast: the first failure cancels the others")
        ] = "all",
        timeout_s: Annotated[
            float | None,
            Field(description="of each; none: 120 where its role only reads, else 1800"),
        ] = None,
    ) -> Annotated[CallToolResult, DelegateReply]:
        return await answering(
            delegations.delegate(
                [task.asked() for task in tasks],
                model=model,
                dir=dir,
                wait_policy=wait_policy,
                timeout_s=timeout_s,
            )
        )

    delegate.__annotations__["tasks"] = list[OfKnownRole]
    server.tool(name="delegate", description=description)(delegate)
