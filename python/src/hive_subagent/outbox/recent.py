"""The notices of this daemon's life as an operator sees them: owed ones, and the last delivered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime

from hive_subagent.models.events import NoticeChanged
from hive_subagent.models.notices import Notice
from hive_subagent.models.replies import NoticeList, OwedNotice
from hive_subagent.outbox.event_feed import EventFeed

MOST_DELIVERED = 64
"""Delivered notices that are kept in memory."""

MOST_OWED = 100
"""Owed notices that are read for one list, the oldest first."""


class RecentNotices:
    """Remembers what was delivered, and publishes what becomes of each notice."""

    def __init__(self, events: EventFeed | None = None) -> None:
        self._events = events or EventFeed()
        # of each owed notice its place in the order, its name and its kind: the text is on the disk
        self._owed: dict[str, NoticeChanged] = {}
        self._delivered: OrderedDict[str, Notice] = OrderedDict()

    @property
    def oldest_at(self) -> str | None:
        """When the oldest of those that are owed was made (RFC 3339)."""
        return min((owed.at for owed in self._owed.values()), default=None)

    def owed(self, notice: Notice) -> None:
        """Some sink has yet to take it."""
        about = NoticeChanged(
            event="notice_owed", id=notice.id, name=notice.name, kind=notice.kind, at=notice.at
        )
        if notice.id not in self._owed:
            self._owed[notice.id] = about
            self._events.publish(about)

    def taken(self, id: str, sink: str) -> None:
        """A sink has taken it."""
        about = self._owed.get(id) or NoticeChanged(event="notice_owed", id=id, at="")
        changes = {"event": "notice_delivered", "sink": sink, "at": _now()}
        self._events.publish(about.model_copy(update=changes))

    def delivered(self, id: str, read: Callable[[str], Notice | None]) -> None:
        """Every sink has it; call it while `read` still finds it."""
        if self._owed.pop(id, None) is None:
            return
        try:
            notice = read(id)
        except OSError:  # it is delivered all the same
            return
        if notice is not None:
            self._delivered[id] = notice
            if len(self._delivered) > MOST_DELIVERED:
                self._delivered.popitem(last=False)

    def listed(
        self, waiting: Mapping[str, Collection[str]], read: Callable[[str], Notice | None]
    ) -> NoticeList:
        """`waiting` has for each sink the ids of those that it has yet to take."""
        owed = sorted(self._owed.values(), key=lambda about: about.at)
        found = []
        for about in owed[:MOST_OWED]:
            sinks = [sink for sink, ids in waiting.items() if about.id in ids]
            try:
                notice = read(about.id)
            except OSError:
                notice = None
            found.append(
                OwedNotice(
                    id=about.id,
                    name=about.name,
                    kind=about.kind,
                    at=about.at,
                    sinks=sinks,
                    notice=notice,
                )
            )
        return NoticeList(
            owed=found,
            left_out=len(owed) - len(found),
            delivered=list(reversed(self._delivered.values())),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
