"""Names and tokens: which run has a name, and which run a signal is for.

All methods are synchronous: between two of them nothing else of the daemon runs, so a name is
reserved atomically.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable

from hive_subagent.errors import Refused
from hive_subagent.messages import refusals
from hive_subagent.messages.text import near
from hive_subagent.sessions.groups import Group
from hive_subagent.sessions.lifecycle import LiveSession
from hive_subagent.sessions.order import Signals
from hive_subagent.sessions.store import SessionRecord, SessionStore

REMEMBERED = 256
"""Ended sessions whose records are kept in memory; older ones are read from disk again."""

GROUPS_REMEMBERED = 16
"""Delegations that can be asked for; older ones have their notice, and their children's names."""


class Registry:
    """The sessions of this daemon's life."""

    def __init__(self, records: SessionStore, *, max_running: int) -> None:
        self._records = records
        self._max_running = max_running
        self._live: dict[str, LiveSession] = {}
        self._queued: dict[str, LiveSession] = {}
        self.groups: OrderedDict[str, Group] = OrderedDict()
        self.freed: list[Callable[[], None]] = []
        """Called whenever a place has become free."""
        self._ended: OrderedDict[str, SessionRecord] = OrderedDict()
        self._names: dict[str, None] = {}
        self._in_vain: dict[str, str] = {}
        self._tokens: dict[str, Signals] = {}

    @property
    def live(self) -> list[LiveSession]:
        """Every run that is starting or running, oldest first."""
        return list(self._live.values())

    @property
    def queued(self) -> list[LiveSession]:
        """Every session that waits for a place, in their order."""
        return list(self._queued.values())

    @property
    def free(self) -> int:
        """How many more may run."""
        return max(0, self._max_running - len(self._live))

    @property
    def names(self) -> list[str]:
        """Every name used in this daemon's life, in the order in which their last runs ended."""
        return list(self._names)

    def near(self, name: str) -> str:
        """What is added to a refusal of a name where a known one looks like it."""
        return near(name, {**self._names, **self._live, **self._queued})

    def check_name_free(self, name: str) -> None:
        """Raise Refused when `name` runs already or waits to."""
        if name in self._queued:
            raise Refused(refusals.queued_already(name), kind="conflict", name=name)
        if name in self._live:
            raise Refused(refusals.running_already(name), kind="conflict", name=name)

    def check_free(self, name: str) -> None:
        """Raise Refused when `name` runs already or too many others do."""
        self.check_name_free(name)
        if not self.free:
            most = self._max_running
            raise Refused(
                refusals.too_many(most, self._live), kind="limit", name="max_running", limit=most
            )

    def queue(self, session: LiveSession) -> None:
        """Reserve the session's name before there is a place for it. Raises Refused."""
        self.check_name_free(session.record.name)
        self._queued[session.record.name] = session

    def leave_queue(self, session: LiveSession) -> bool:
        """Give the name back; whether the session was in the queue."""
        if self._queued.get(session.record.name) is not session:
            return False
        del self._queued[session.record.name]
        return True

    def enter(self, session: LiveSession) -> None:
        """Reserve the session's name until `leave`, from the queue or anew. Raises Refused."""
        name = session.record.name
        self.leave_queue(session)
        self.check_free(name)
        self._live[name] = session

    def leave(self, session: LiveSession, *, happened: bool) -> None:
        """Give the name back; `happened` says that the run is part of the session's history."""
        name = session.record.name
        if self._live.get(name) is session:
            del self._live[name]
        if happened:
            self.remember(session.record)
        for call in list(self.freed):
            call()

    def remember(self, record: SessionRecord) -> None:
        """From now on the name means this session, which does not run."""
        self._in_vain.pop(record.name, None)
        self._names.pop(record.name, None)
        self._names[record.name] = None
        self._ended[record.name] = record
        self._ended.move_to_end(record.name)
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def note_in_vain(self, name: str, delegation: str) -> None:
        """A child of this name left no session, so that the name means an earlier one again."""
        self._in_vain[name] = delegation

    def in_vain(self, name: str) -> str | None:
        """The delegation whose child had this name last and left no session, if one did."""
        return self._in_vain.get(name)

    def add_group(self, group: Group) -> None:
        """Let an owner ask for a group; the oldest that are over are forgotten."""
        self.groups[group.id] = group
        if len(self.groups) > GROUPS_REMEMBERED:
            self.groups.popitem(last=False)

    def keep_group_of(self, record: SessionRecord | None) -> None:
        """How a child ended is its delegation's to report, whatever becomes of its session now."""
        group = self.groups.get((record and record.delegation) or "")
        if group is not None:
            group.keep()

    def amend(self, record: SessionRecord) -> None:
        """Something about a session has become known that no run of it has changed."""
        if record.name in self._ended:
            self._ended[record.name] = record

    def running(self, name: str) -> LiveSession | None:
        """The session of a name that runs or waits to."""
        return self._live.get(name) or self._queued.get(name)

    def record(self, name: str) -> SessionRecord | None:
        """What is known of a name that does not run, from memory or disk.

        Raises Unreadable where there is a record and it cannot be read.
        """
        return self._ended.get(name) or self._records.by_name(name)

    def mint(self, signals: Signals) -> str:
        """A new unguessable token (256 bits) with which a run's subagent gives these signals."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = signals
        return token

    def resolve(self, token: str) -> Signals | None:
        """The signals of the run that a token belongs to; None for unknown and revoked ones."""
        return self._tokens.get(token)

    def revoke(self, token: str) -> None:
        """From now on the token is unknown."""
        self._tokens.pop(token, None)
