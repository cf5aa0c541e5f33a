"""The owner's tool `delegate`: several tasks in one call."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from hive_subagent.delegation.delegations import (
    DEFAULT_TIMEOUT_S,
    MOST_TASKS,
    Delegations,
    Task,
)
from hive_subagent.models import DelegateReply, WaitPolicy
from hive_subagent.servers.answers import OptionalText, answering


class TaskGiven(BaseModel):
    """One task and who is to do it."""

    model_config = ConfigDict(extra="forbid")

    task: Annotated[str, Field(description="what to do, whole: the child knows nothing else")]
    role: Annotated[str, Field(description="which kind of child does it")]
    name: Annotated[str | None, Field(description="none: the role with a number")] = None
    dir: Annotated[str | None, Field(description="directory it works in")] = None
    model: Annotated[str | None, Field(description="claude's model for it")] = None

    def asked(self) -> Task:
        """As the delegation takes it."""
        return Task(task=self.task, role=self.role, name=self.name, dir=self.dir, model=self.model)


def add_delegate(server: MCPServer, delegations: Delegations) -> None:
    """Add the tool to the owner's server."""
    roles = "; ".join(f"`{role.name}` {role.description}" for role in delegations.roles.values())
    description = (
        f"Hand out 1 to {MOST_TASKS} tasks at once, each to a child with its own context window,"
        " and return; you are told once when they have ended. No child has more permission than"
        f" you. Roles: {roles}."
    )

    @server.tool(name="delegate", description=description)
    async def delegate(
        tasks: list[TaskGiven],
        model: Annotated[OptionalText, Field(description="claude's model for all")] = None,
        dir: Annotated[OptionalText, Field(description="directory of all")] = None,
        wait_policy: Annotated[
            WaitPolicy, Field(description="fail_fast: the first failure cancels the others")
        ] = "all",
        timeout_s: Annotated[
            float, Field(description="seconds for each, from the start of its own work")
        ] = DEFAULT_TIMEOUT_S,
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
