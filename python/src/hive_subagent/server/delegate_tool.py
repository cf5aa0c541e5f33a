"""The owner's tool `delegate`: several tasks in one call."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from hive_subagent.delegation.service import MOST_TASKS, DelegationService, Task
from hive_subagent.models.replies import DelegateReply
from hive_subagent.models.session import WaitPolicy
from hive_subagent.server.tool_answers import OptionalText, answering


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


def add_delegate(server: MCPServer, delegations: DelegationService) -> None:
    """Add the tool to the owner's server."""
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
