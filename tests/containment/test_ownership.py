"""Who belongs to whom, over made-up snapshots: what holds for every one of them."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.containment import marker
from hive_subagent.containment.marker import Marks
from hive_subagent.containment.ownership import LEFTOVER, STRAY, Ownership
from hive_subagent.containment.proc import Process

HOUSE, OTHER = "house", "other"
OWN = Process(100, "daemon", "S", 1, 100, 100, 1, 1000, 0, 0)
NOTHING = Marks(None, None, None)

a_pid = st.integers(1, 130)
marks = st.builds(
    Marks,
    identity=st.sampled_from([None, None, HOUSE, OTHER]),
    run_id=st.sampled_from([None, "a", "b", "closed"]),
    stamp=st.sampled_from([None, None, marker.stamp(HOUSE, 1), marker.stamp(OTHER, 1)]),
)
processes = st.builds(
    Process,
    pid=a_pid,
    comm=st.just("x"),
    state=st.sampled_from("SRZ"),
    parent=st.integers(0, 130),
    group=a_pid,
    session=st.integers(0, 130),
    threads=st.just(1),
    started=st.integers(0, 2000),
    cpu_ticks=st.just(0),
    env_start=st.just(0),
)


def a_roll(known: dict[int, Marks], *, strays: bool = False, only_runs: bool = True) -> Ownership:
    return Ownership(
        HOUSE,
        own=OWN,
        read_marks=lambda process: known.get(process.pid, NOTHING),
        claim_strays_since=1000 if strays else None,
        only_runs_below=only_runs,
    )


def snapshot(*found: Process) -> dict[int, Process]:
    return {process.pid: process for process in (OWN, *found)}


def child(pid: int, parent: int, **changes: int) -> Process:
    return Process(pid, "x", "S", parent, pid, changes.pop("session", pid), 1, 1500, 0, 0)._replace(
        **changes  # type: ignore[arg-type]
    )


def owners(roll: Ownership, found: dict[int, Process]) -> dict[int, str]:
    alive = roll.sort(found).alive
    return {process.pid: owner for owner, members in alive.items() for process in members}


@given(st.lists(processes), st.dictionaries(a_pid, marks), st.booleans())
def test_this_process_and_those_above_it_never_belong_to_a_run(
    found: list[Process], known: dict[int, Marks], strays: bool
) -> None:
    roll = a_roll(known, strays=strays)
    roll.add("a")
    machine = {process.pid: process for process in found} | {OWN.pid: OWN}
    owned = owners(roll, machine)
    above = {OWN.pid}
    pid = OWN.pid
    while pid in machine and (pid := machine[pid].parent) not in above:
        above.add(pid)
    assert not owned.keys() & above


@given(st.lists(processes), st.dictionaries(a_pid, marks), st.booleans())
def test_another_daemons_process_is_only_ours_under_or_inside_a_run(
    found: list[Process], known: dict[int, Marks], strays: bool
) -> None:
    """Nothing that is marked OTHER is owned when no process at all is marked as ours."""
    foreign = {pid: Marks(OTHER, m.run_id, marker.stamp(OTHER, 1)) for pid, m in known.items()}
    roll = a_roll(foreign, strays=strays)
    roll.add("a")
    machine = {process.pid: process for process in found} | {OWN.pid: OWN}

    owned = owners(roll, machine)

    assert set(owned.values()) <= {STRAY}
    assert all(pid not in foreign or machine[pid].parent in owned for pid in owned)


@given(st.lists(processes), st.dictionaries(a_pid, marks))
def test_what_was_judged_once_is_judged_alike_when_its_marks_are_gone(
    found: list[Process], known: dict[int, Marks]
) -> None:
    roll = a_roll(known)
    roll.add("a")
    machine = {process.pid: process for process in found} | {OWN.pid: OWN}
    before = owners(roll, machine)
    known.clear()
    assert owners(roll, machine) == before


def test_a_process_of_another_daemon_stays_foreign_without_its_marks() -> None:
    """In a session that it shares with one of ours."""
    known = {201: Marks(HOUSE, "a", None), 202: Marks(OTHER, None, None)}
    roll = a_roll(known)
    roll.add("a")
    machine = snapshot(child(201, 1, session=9), child(202, 1, session=9))
    assert owners(roll, machine) == {201: "a"}
    known.clear()
    assert owners(roll, machine) == {201: "a"}


def test_marker_stamp_descent_and_session_each_suffice() -> None:
    roll = a_roll({201: Marks(HOUSE, "a", None), 202: Marks(None, None, marker.stamp(HOUSE, 1))})
    roll.add("a")
    owned = owners(
        roll,
        snapshot(
            child(201, 1),
            child(202, 1),
            child(203, 201),
            child(204, 203),
            child(205, 1, session=202),
            child(206, 205),
            child(207, 1),
        ),
    )
    assert owned == dict.fromkeys((201, 202, 203, 204, 205, 206), "a")


def test_a_pid_that_is_used_again_is_not_what_it_was() -> None:
    """R16: the same number, started later."""
    roll = a_roll({})
    entry = roll.add("a")
    roll.set_root(entry, child(201, OWN.pid))
    assert owners(roll, snapshot(child(201, OWN.pid))) == {201: "a"}
    assert owners(roll, snapshot(child(201, 1, started=1600), child(202, 201))) == {}


def test_a_session_number_that_is_used_again_is_not_the_runs() -> None:
    """R16: its root is gone, and a stranger leads a session of that number."""
    roll = a_roll({})
    entry = roll.add("a")
    roll.set_root(entry, child(201, OWN.pid))
    orphan = child(202, OWN.pid, session=201)
    assert owners(roll, snapshot(orphan)) == {202: "a"}
    stranger = child(201, 1, started=1600)
    assert owners(roll, snapshot(stranger, child(203, 201, session=201))) == {}


def test_what_a_closed_run_left_is_left_over() -> None:
    roll = a_roll({201: Marks(HOUSE, "a", None)})
    entry = roll.add("a")
    found = snapshot(child(201, 1), child(202, 201))
    assert set(owners(roll, found).values()) == {"a"}
    roll.remove(entry)
    assert owners(roll, found) == {201: LEFTOVER, 202: LEFTOVER}


def test_a_dead_child_is_not_reaped_while_it_may_be_the_root_of_a_new_run() -> None:
    roll = a_roll({201: Marks(None, None, marker.stamp(HOUSE, 1))})
    entry = roll.add("a")
    dead = child(201, OWN.pid)._replace(state="Z")
    assert roll.sort(snapshot(dead)).reapable == []
    roll.set_root(entry, child(200, OWN.pid))
    assert roll.sort(snapshot(dead)).reapable == [("a", dead)]


def test_a_root_is_never_reaped_not_even_after_its_run_is_closed() -> None:
    roll = a_roll({})
    entry = roll.add("a")
    roll.set_root(entry, child(201, OWN.pid))
    dead = child(201, OWN.pid)._replace(state="Z")
    assert roll.sort(snapshot(dead)).reapable == []
    roll.remove(entry)
    assert roll.sort(snapshot(dead)).reapable == []


def test_strays_are_claimed_on_request_only_and_where_nothing_else_fits() -> None:
    found = snapshot(
        child(201, OWN.pid),
        child(202, 201),
        child(203, OWN.pid, session=OWN.session),
        child(204, OWN.pid, started=900),
        child(205, 1),
    )
    assert owners(a_roll({}), found) == {}
    assert owners(a_roll({}, strays=True), found) == {201: STRAY, 202: STRAY}


def test_an_orphan_of_a_daemon_inside_a_run_is_the_runs() -> None:
    foreign = Marks(OTHER, "x", marker.stamp(OTHER, 1))
    roll = a_roll({201: Marks(HOUSE, "a", None), 202: foreign, 203: foreign})
    roll.add("a")
    inside = snapshot(child(201, OWN.pid), child(202, 201))
    assert owners(roll, inside) == {201: "a", 202: "a"}
    orphaned = snapshot(child(203, OWN.pid), child(204, 1))
    assert owners(roll, orphaned) == {203: "a"}


def test_where_others_hang_under_this_process_hanging_there_proves_nothing() -> None:
    """Issue 9, 20: as PID 1 everything does. What carries marks or descends stays the run's."""
    foreign = Marks(OTHER, "x", marker.stamp(OTHER, 1))
    known = {210: Marks(HOUSE, "a", None), 212: foreign, 213: foreign}
    roll = a_roll(known, only_runs=False)
    entry = roll.add("a")
    roll.set_root(entry, child(201, OWN.pid))
    found = snapshot(
        child(202, OWN.pid, session=201),
        child(210, OWN.pid),
        child(211, 210),
        child(212, 210),
        child(213, OWN.pid),
    )
    assert owners(roll, found) == {210: "a", 211: "a", 212: "a"}


@given(st.text(string.ascii_letters + string.digits, min_size=1), st.integers(0, 2**40))
def test_a_stamp_fits_every_shell_and_shows_its_daemon(identity: str, number: int) -> None:
    stamp = marker.stamp(identity, number)
    assert 0 < stamp < 2**62
    assert marker.same_daemon(stamp, identity)
    assert not marker.same_daemon(stamp, identity + "x")
