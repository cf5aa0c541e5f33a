"""Which process belongs to which run: the judgement of a snapshot, and its memory.

A process is a run's when it was seen as such before, carries the run's marker or stamp, descends
from one that is the run's, or sits in a session where one of the run's is. Nobody's: this
process, those above it, and whatever carries another daemon's marker without hanging under a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hive_subagent.containment import marker
from hive_subagent.containment.marker import Marks
from hive_subagent.containment.proc import Process, Snapshot, ancestors

LEFTOVER = ":leftover"  # of this identity, of no open run; a run id holds no colon
STRAY = ":stray"  # adopted by this process, without any mark

# it names a directory and stands after a colon
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(slots=True, eq=False)
class Entry:
    """An open run."""

    run_id: str
    stamp: int
    root: Process | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Sorted:
    """A snapshot by owner: what lives (the root first), and the dead that we have to reap."""

    alive: dict[str, list[Process]] = field(default_factory=dict)
    reapable: list[tuple[str, Process]] = field(default_factory=list)

    def of(self, *owners: str) -> list[Process]:
        return [process for owner in owners for process in self.alive.get(owner, ())]


class Ownership:
    """The runs of one daemon, and the processes that they own."""

    def __init__(
        self,
        identity: str,
        *,
        own: Process,
        read_marks: Callable[[Process], Marks],
        claim_strays_since: int | None = None,
        only_runs_below: bool = True,
        reap_strays: bool = False,
    ) -> None:
        """`claim_strays_since`: clock ticks since boot; None never claims an unmarked process.

        `only_runs_below`: whatever hangs under this process was started by a run. Where that does
        not hold, hanging under it proves nothing. `reap_strays`: dead children are reaped even if
        they are nobody's.
        """
        self.identity = identity
        self.own = own
        self.read_marks = read_marks
        self.strays_since = claim_strays_since
        self.only_runs_below = only_runs_below
        self.reap_strays = reap_strays
        self.runs: dict[str, Entry] = {}
        self.by_stamp: dict[int, Entry] = {}
        self.seen: dict[tuple[int, int], str] = {}
        self.nested: dict[str, str] = {}  # identity of a daemon inside a run -> that run
        # processes that carried the marks of another daemon, which they may wipe
        self.foreign: set[tuple[int, int]] = set()
        self._roots: set[tuple[int, int]] = set()
        self._number = 0

    def add(self, run_id: str) -> Entry:
        """Open a run. Its stamp differs from those of all other open runs."""
        if run_id in self.runs:
            raise ValueError(f"run {run_id} is open already")
        if not _RUN_ID.fullmatch(run_id):
            raise ValueError(f"not a run id: {run_id!r}")
        while True:
            self._number += 1
            stamp = marker.stamp(self.identity, self._number)
            if stamp not in self.by_stamp:
                break
        entry = Entry(run_id, stamp)
        self.runs[run_id] = self.by_stamp[stamp] = entry
        return entry

    def remove(self, entry: Entry) -> None:
        """Close a run; what is still there of it counts as left over."""
        if self.runs.pop(entry.run_id, None) is None:
            return
        self.by_stamp.pop(entry.stamp)
        self.nested = {
            identity: run for identity, run in self.nested.items() if run != entry.run_id
        }
        for key, run in self.seen.items():
            if run == entry.run_id:
                self.seen[key] = LEFTOVER

    def set_root(self, entry: Entry, root: Process) -> None:
        entry.root = root
        self.seen[root.key] = entry.run_id
        self._roots.add(root.key)

    def owner_of(self, process: Process) -> str | None:
        """The run that owns a process, by what was seen of it or by the marks that it carries."""
        marks = self.read_marks(process)
        if (owner := self.seen.get(process.key)) is not None:
            return owner
        if marks.stamp is not None:
            if (entry := self.by_stamp.get(marks.stamp)) is not None:
                return entry.run_id
            if marker.same_daemon(marks.stamp, self.identity):
                return LEFTOVER
        if marks.identity == self.identity:
            return marks.run_id if marks.run_id in self.runs else LEFTOVER
        return None

    def forget(self, process: Process) -> None:
        self.seen.pop(process.key, None)

    def sort(self, processes: Snapshot, *, whole: bool = True) -> Sorted:
        """Judge every process of a snapshot; `whole` says that nothing is missing from it."""
        if whole:
            here = {process.key for process in processes.values()}
            self.seen = {key: run for key, run in self.seen.items() if key in here}
            self._roots &= here
            self.foreign &= here
        outcome = Sorted()
        for process, owner in _Judgement(self, processes).owners():
            self.seen[process.key] = owner
            if process.alive:
                outcome.alive.setdefault(owner, []).append(process)
            elif process.parent == self.own.pid and self._may_reap(owner, process):
                outcome.reapable.append((owner, process))
        for members in outcome.alive.values():
            members.sort(key=lambda p: (p.key not in self._roots, p.started, p.pid))
        return outcome

    def _may_reap(self, owner: str, process: Process) -> bool:
        if process.key in self._roots:  # its spawner waits for it
            return False
        if (entry := self.runs.get(owner)) is not None:
            return entry.root is not None
        # any dead child may be the root of a run whose spawner has not named it yet
        return all(entry.root is not None or entry.ended for entry in self.runs.values())


class _Judgement:
    """One snapshot, judged."""

    def __init__(self, ownership: Ownership, processes: Snapshot) -> None:
        self._ownership = ownership
        self._processes = processes
        self._owners: dict[int, str] = {}
        self._spared = {ownership.own.pid, *ancestors(ownership.own.pid, processes)}
        self._children: dict[int, list[int]] = {}
        for process in processes.values():
            self._children.setdefault(process.parent, []).append(process.pid)

    def owners(self) -> Iterator[tuple[Process, str]]:
        for judge in (self._ownership.owner_of, self._by_session, self._by_nesting, self._as_stray):
            found = {p.pid: owner for p in self._unowned() if (owner := judge(p)) is not None}
            self._owners.update(found)
            for pid, owner in found.items():
                self._claim_below(pid, owner)
            if judge == self._ownership.owner_of:
                self._note_sessions()
        return ((self._processes[pid], owner) for pid, owner in self._owners.items())

    def _unowned(self) -> list[Process]:
        taken = self._spared | self._owners.keys()
        return [process for pid, process in self._processes.items() if pid not in taken]

    def _claim_below(self, pid: int, owner: str) -> None:
        rest = list(self._children.get(pid, ()))
        while rest:
            child = rest.pop()
            if child not in self._owners and child not in self._spared:
                self._owners[child] = owner
                rest.extend(self._children.get(child, ()))

    def _note_sessions(self) -> None:
        """Learn from what is owned by now: its sessions, and the daemons that run inside it."""
        self._sessions: dict[int, str] = {}
        for pid, owner in self._owners.items():
            process = self._processes[pid]
            self._sessions[process.session] = owner
            identity = self._ownership.read_marks(process).identity
            if identity is not None and identity != self._ownership.identity:
                self._ownership.nested[identity] = owner
        # the number of a session stays taken while it has a member; one that is led by nobody
        # and hangs under us can only be the dead root's
        self._headless = {
            entry.root.pid: entry.run_id
            for entry in self._ownership.runs.values()
            if entry.root is not None and entry.root.pid not in self._processes
        }
        for session in (0, self._ownership.own.session):
            self._sessions.pop(session, None)

    def _by_session(self, process: Process) -> str | None:
        if self._foreign(process):
            return None
        if (owner := self._sessions.get(process.session)) is not None:
            return owner
        owner = self._headless.get(process.session)
        return owner if owner is not None and self._below_us(process) else None

    def _by_nesting(self, process: Process) -> str | None:
        owner = self._ownership.nested.get(self._ownership.read_marks(process).identity or "")
        return owner if owner is not None and self._below_us(process) else None

    def _as_stray(self, process: Process) -> str | None:
        ownership = self._ownership
        if ownership.reap_strays and not process.alive and process.parent == ownership.own.pid:
            return STRAY  # the dead are only reaped, so there is nothing to prove
        if (
            ownership.strays_since is None
            or process.parent != ownership.own.pid
            or process.started < ownership.strays_since
            or process.session in (0, ownership.own.session)
            or self._foreign(process)
        ):
            return None
        return STRAY

    def _foreign(self, process: Process) -> bool:
        identity = self._ownership.read_marks(process).identity
        if identity is not None and identity != self._ownership.identity:
            self._ownership.foreign.add(process.key)
        return process.key in self._ownership.foreign

    def _below_us(self, process: Process) -> bool:
        """Whether a process hangs under this one, and what hangs there is a run's."""
        return self._ownership.only_runs_below and self._ownership.own.pid in ancestors(
            process.pid, self._processes
        )
