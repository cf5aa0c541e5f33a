"""Several sessions with one notice; an owner waits for them and stops them by one id."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

import anyio

from hive_subagent.errors import Refused
from hive_subagent.messages import refusals, sessions
from hive_subagent.messages.response_budget import fit_processes
from hive_subagent.messages.text import near
from hive_subagent.models.replies import InterruptReply
from hive_subagent.models.session import Cause, ProcessInfo, SessionView

log = logging.getLogger(__name__)


class Group(Protocol):
    """A delegation, as sessions know it. Its id holds a colon, so it is no name."""

    @property
    def id(self) -> str:
        """What it is called."""

    @property
    def over(self) -> anyio.Event:
        """Set once every session of it has ended and its notice is owed."""

    def views(self) -> list[SessionView]:
        """Its sessions as they stand, in their order."""

    def stop(self, cause: Cause, *, step_s: float, force: bool = False) -> None:
        """Stop what runs and drop what waits; called again it only hurries."""

    def withdraw(self, name: str, cause: Cause) -> None:
        """Drop one session that waits."""

    def keep(self) -> None:
        """Write down how those ended that have: one of its sessions is about to change."""

    def died(self) -> Sequence[ProcessInfo]:
        """The processes that died with its sessions."""


def is_group(name: str) -> bool:
    """Whether this is the id of a group and not a name."""
    return ":" in name


def find(groups: Mapping[str, Group], name: str) -> Group:
    """The group of that id. Raises Refused."""
    group = groups.get(name)
    if group is None:
        raise Refused(
            refusals.unknown_delegation(name, near(name, groups)), kind="not_found", name=name
        )
    return group


async def cancel(group: Group, *, step_s: float, force: bool) -> tuple[InterruptReply, str]:
    """Stop all of a group; returns once it is over. Raises Refused when it is already."""
    if group.over.is_set():
        raise Refused(refusals.delegation_over(group.id), kind="conflict", name=group.id)
    log.info("`%s` is cancelled by its owner%s", group.id, " by force" if force else "")
    group.stop(Cause.CANCELLED, step_s=step_s, force=force)
    await group.over.wait()
    died, left_out = fit_processes(group.died())
    reply = InterruptReply(
        name=group.id,
        session_id="",
        forced=force,
        ended=True,
        processes=died,
        left_out=left_out,
    )
    return reply, sessions.cancelled(reply, group.views())
