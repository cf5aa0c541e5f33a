"""Which connection gives way to another (issue 10, 9)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.server.connections import (
    FEWEST,
    MOST,
    Connections,
    Standing,
    mark_proven,
    most_connections,
)


class Caller:
    """A connection that only notes its end."""

    def __init__(self, *, proven: bool = False) -> None:
        self.standing = Standing(proven)
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def admitted(connections: Connections, group: str, *, share: int = 99) -> Caller | None:
    if not connections.make_room(group, share):
        return None
    made = Caller()
    connections.add(made, group)
    return made


def some(connections: Connections, group: str, count: int) -> list[Caller]:
    made = [admitted(connections, group) for _ in range(count)]
    return [each for each in made if each is not None]


def test_the_group_that_has_most_gives_way_with_the_one_idle_for_longest() -> None:
    connections = Connections(4)
    owner = some(connections, "owner", 1)
    strangers = some(connections, "stranger", 3)
    connections.busy(strangers[0])
    connections.idle(strangers[0])
    assert admitted(connections, "owner") is not None
    assert [each.dropped for each in strangers] == [False, True, False]
    assert not owner[0].dropped
    assert len(connections) == 4


def test_a_connection_that_has_shown_a_token_is_closed_last() -> None:
    connections = Connections(3)
    first, second, third = some(connections, "one", 3)
    mark_proven({"state": {"standing": first.standing}})
    assert admitted(connections, "one") is not None
    assert (first.dropped, second.dropped, third.dropped) == (False, True, False)
    connections.busy(third)
    for each in some(connections, "one", 1):
        each.standing.proven = True
    assert admitted(connections, "one") is not None
    assert first.dropped


def test_a_request_under_way_is_never_cut() -> None:
    connections = Connections(2)
    both = some(connections, "one", 2)
    for each in both:
        connections.busy(each)
    assert admitted(connections, "two") is None
    assert not any(each.dropped for each in both)
    connections.idle(both[0])
    assert admitted(connections, "two") is not None
    assert both[0].dropped


def test_a_group_over_its_share_makes_room_among_its_own() -> None:
    connections = Connections(10)
    others = some(connections, "owner", 1)
    strangers = [admitted(connections, "stranger", share=2) for _ in range(5)]
    assert len(connections) == 3
    assert not others[0].dropped
    assert [each is not None and each.dropped for each in strangers] == [True] * 3 + [False] * 2


def test_what_is_gone_is_not_counted_twice() -> None:
    connections = Connections(2)
    (one,) = some(connections, "one", 1)
    connections.remove(one)
    connections.remove(one)
    connections.busy(one)
    connections.idle(one)
    assert len(connections) == 0
    assert not connections.end_one()


def test_a_request_without_a_connection_marks_no_caller() -> None:
    mark_proven({})


def test_descriptors_are_kept_for_runs() -> None:
    assert most_connections(65536, 8) == MOST
    assert most_connections(1024, 8) == 1024 - 192 - 16 * 8
    assert most_connections(256, 1000) == FEWEST


STEPS = st.lists(
    st.tuples(st.sampled_from(["admit", "busy", "idle", "prove", "close"]), st.integers(0, 9)),
    max_size=80,
)


@given(STEPS)
def test_in_any_order_the_limits_hold_and_only_idle_ones_are_ended(
    steps: list[tuple[str, int]],
) -> None:
    connections, open_, busy = Connections(5), list[tuple[str, Caller]](), set[Caller]()
    for step, number in steps:
        group = "ab"[number % 2]
        if step == "admit":
            made = admitted(connections, group, share=3)
            assert made is not None or busy
            if made is not None:
                open_.append((group, made))
        elif open_:
            _, chosen = open_[number % len(open_)]
            if step == "close":
                connections.remove(chosen)
                open_ = [each for each in open_ if each[1] is not chosen]
                busy.discard(chosen)
            elif step == "prove":
                chosen.standing.proven = True
            elif step == "busy":
                connections.busy(chosen)
                busy.add(chosen)
            else:
                connections.idle(chosen)
                busy.discard(chosen)
        assert not any(each.dropped for each in busy)
        open_ = [each for each in open_ if not each[1].dropped]
        assert len(connections) == len(open_) <= 5
        for name in "ab":
            assert sum(group == name for group, _ in open_) <= 3
