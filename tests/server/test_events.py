"""`/api/v1/events`: what happens, once each, in order, over reconnections (issue 13, 1)."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from support import api, processes, rpc
from support.daemon import Daemon
from support.sse import EventStream, ServerEvent
from support.stub import HANG, bash, script, text, turns

from hive_subagent.models.events import NoticeChanged
from hive_subagent.outbox.event_journal import EventJournal
from hive_subagent.server.api.app import build_api
from hive_subagent.server.http_server import HttpServer, Served
from hive_subagent.server.operator_socket import bind_operator_socket
from hive_subagent.system.sockdiag import SocketDiagnostics


def stream(daemon: Daemon, last_event_id: str | None = None) -> EventStream:
    opened = EventStream(daemon.runtime_dir / "operator.sock", last_event_id)
    assert opened.status == 200
    return opened


def names(events: list[ServerEvent]) -> list[str]:
    return [one.event for one in events]


def delivered(name: str) -> Any:
    return lambda one: one.event == "notice_delivered" and one.data["name"] == name


async def until(opened: EventStream, wanted: Any) -> list[ServerEvent]:
    return await anyio.to_thread.run_sync(opened.until, wanted)


async def test_a_run_from_its_beginning_to_its_notice(daemon: Daemon) -> None:
    """Issue 13, 1."""
    with stream(daemon) as opened:
        assert opened.headers["content-type"].startswith("text/event-stream")
        first = opened.next()
        about = api.client(daemon.runtime_dir).request("GET", "/healthz", prefix="").json
        assert (first.event, first.data["instance"]) == ("stream_opened", about["instance"])
        name = await daemon.begin(script(text("done")))
        found = await until(opened, delivered(name))
    assert names(found) == [
        "subagent_started",
        "notice_owed",
        "subagent_finished",
        "notice_delivered",
    ] or names(found) == [
        "subagent_started",
        "notice_owed",
        "notice_delivered",
        "subagent_finished",
    ]
    started, finished = found[0].data, next(e for e in found if e.event == "subagent_finished").data
    assert (started["name"], finished["state"], finished["stop_reason"]) == (
        name,
        "idle",
        "turn_ended",
    )
    assert started["id"] == finished["id"] == found[1].data["id"]
    assert found[1].data["kind"] == "finished"
    assert found[-1].data.get("sink", "").startswith("dir:") or found[2].data["sink"]
    numbers = [int(one.id.rpartition(":")[2]) for one in [first, *found]]
    assert numbers == list(range(numbers[0], numbers[0] + 5))


async def test_turns_and_background_tasks_are_told_as_they_change(daemon: Daemon) -> None:
    """Issue 13, 1."""
    reached = {"mcp": "signal/goal_reached", "args": {}}
    with stream(daemon) as opened:
        name = await daemon.begin(turns([text("one")], [text("two"), reached]), goal="two turns")
        found = await until(opened, delivered(name))
        began = [one.data for one in found if one.event == "turn_began"]
        assert [(one["name"], one["turn"], one["max_turns"]) for one in began] == [(name, 2, 5)]
        gate = daemon.gate()
        steps = [
            {"bash": f"until test -e {gate}; do sleep 0.05; done", "background": True},
            text("waiting"),
        ]
        name = await daemon.begin(script(*steps))
        found = await until(opened, lambda one: one.event == "background_changed")
        (task,) = found[-1].data["background"]
        assert (task["kind"], found[-1].data["name"]) == ("shell", name)
        gate.touch()
        found = await until(opened, delivered(name))
        assert [one.data["background"] for one in found if one.event == "background_changed"] == [
            []
        ]


async def test_an_intervention_is_queued_then_delivered_or_missed(daemon: Daemon) -> None:
    """Issue 13, 1: by whatever way it came."""
    gate = daemon.gate()
    with stream(daemon) as opened:
        wait = {"wait_file": str(gate)}
        name = await daemon.begin(script(bash("true"), wait, bash("true"), text("done")))
        (daemon.runtime_dir / "channels" / name / "_keyinfo.txt").write_text("the build is green")
        found = await until(opened, lambda one: one.event == "intervention_queued")
        gate.touch()
        found += await until(opened, delivered(name))
        told = [one for one in found if one.event.startswith("intervention")]
        assert names(told) == ["intervention_queued", "intervention_delivered"]
        assert {(one.data["name"], one.data["kind"]) for one in told} == {(name, "info")}
        name = await daemon.begin(script(HANG))
        receipt = await daemon.must("intervene", name=name, kind="info", text="too late")
        await daemon.must("interrupt", name=name)
        found = await until(opened, delivered(name))
        told = [one for one in found if one.event.startswith("intervention")]
        assert [(one.event, one.data["id"]) for one in told] == [
            ("intervention_queued", receipt["id"]),
            ("intervention_missed", receipt["id"]),
        ]


async def test_a_reader_that_comes_back_goes_on_where_it_was(daemon: Daemon) -> None:
    """Issue 13, 1: exact replay, whichever event it had last."""
    with stream(daemon) as opened:
        first = opened.next()
        for _ in range(3):
            name = daemon.name()
            await daemon.run(script(text("done")), name)
        whole = [first, *await until(opened, delivered(name))]
    for index, one in enumerate(whole):
        with stream(daemon, one.id) as again:
            assert again.next().event == "stream_opened"
            for expected in whole[index + 1 :]:
                assert again.next() == expected


async def test_after_a_restart_the_gap_is_declared_and_nothing_of_the_new_one_is_missed(
    world: Daemon,
) -> None:
    """Issue 13, 1: "nothing happened" and "an event was lost" differ."""
    world.start()
    with stream(world) as opened:
        last = opened.next().id
    world.restart()
    name = world.name()
    await world.run(script(text("done")), name)
    with stream(world, last) as opened:
        gap, first = opened.next(), opened.next()
        assert (gap.event, gap.data["reason"], gap.data["missed"]) == ("gap", "another_daemon", 0)
        assert first.event == "stream_opened"
        assert gap.data["instance"] == first.data["instance"] != last.partition(":")[0]
        found = await until(opened, delivered(name))
        assert found[0].event == "subagent_started"


async def test_the_stream_ends_with_the_daemon_after_its_last_events(world: Daemon) -> None:
    """Issue 13, 1: a reader hears of the runs that the stop ended, and the stop waits for none."""
    world.start()
    with stream(world) as opened:
        name = await world.begin(script(HANG))
        assert await anyio.to_thread.run_sync(world.stop) == 0
        found = list(opened)
    ended = [one.data for one in found if one.event == "subagent_finished"]
    assert [(one["name"], one["cause"]) for one in ended] == [(name, "daemon_stop")]


async def test_an_owed_notice_is_listed_until_the_sink_has_taken_it(world: Daemon) -> None:
    """Issue 13, 1."""
    sink = world.root / "sink.sock"
    world.settings["todo_sinks"] = [f"unix:{sink}", f"dir:{world.state_dir / 'todos'}"]
    world.start()
    called = api.client(world.runtime_dir)
    name = world.name()
    await world.run(script(text("done")), name)
    await processes.until(lambda: bool(called.get("/notices")["owed"]), "the notice")
    (owed,) = called.get("/notices")["owed"]
    assert (owed["name"], owed["kind"], owed["notice"]["text"] != "") == (name, "finished", True)
    assert owed["sinks"][0] == f"unix:{sink}"
    assert called.get("/notices")["delivered"] == []
    world.kill()
    world.start()
    assert [one["id"] for one in called.get("/notices")["owed"]] == [owed["id"]]
    with socket.socket(socket.AF_UNIX) as taker, stream(world) as opened:
        taker.bind(str(sink))
        taker.listen()
        taker.settimeout(30)
        connection, _ = await anyio.to_thread.run_sync(taker.accept)
        with connection:
            connection.sendall(b'{"ok":true}\n')
            found = await until(opened, delivered(name))
    assert found[-1].data["sink"] == f"unix:{sink}"
    await processes.until(lambda: not called.get("/notices")["owed"], "it to be delivered")
    (taken,) = called.get("/notices")["delivered"]
    assert taken == owed["notice"]


async def test_a_reader_that_does_not_read_costs_others_nothing_and_gets_its_own_gap(
    journal_app: tuple[EventJournal, Path],
) -> None:
    """Issue 13, 1: a flood beyond what is kept, beside a reader that keeps up."""
    journal, path = journal_app
    opening = anyio.to_thread.run_sync
    # the server is in this very thread
    with (
        await opening(lambda: EventStream(path, buffer=4096)) as slow,
        await opening(lambda: EventStream(path)) as quick,
    ):
        for opened in (slow, quick):
            assert (await opening(opened.next)).event == "stream_opened"
        seen = 0
        while journal.last < 30_000:
            for _ in range(500):
                journal.append(flood(journal.last + 1))
            wanted = journal.last
            found = await until(quick, lambda one: int(one.data["id"]) == wanted)  # noqa: B023
            assert names(found) == ["notice_owed"] * 500
            seen += len(found)
        assert seen == journal.last
        found = await until(slow, lambda one: one.data.get("id") == str(journal.last))
    gaps = [one.data for one in found if one.event == "gap"]
    read = [int(one.data["id"]) for one in found if one.event != "gap"]
    assert {gap["reason"] for gap in gaps} == {"dropped"}
    assert sum(gap["missed"] for gap in gaps) + len(read) == journal.last
    assert read == sorted(set(read))
    assert len(read) < journal.last


def flood(number: int) -> NoticeChanged:
    return NoticeChanged(event="notice_owed", id=str(number), name="x" * 200, at="")


@pytest.fixture
async def journal_app(tmp_path: Path) -> AsyncIterator[tuple[EventJournal, Path]]:
    """A journal of this process, served at a socket as the daemon serves its own."""
    journal = EventJournal("11111111-2222-3333-4444-555555555555")
    app = Starlette(routes=[Mount(api.PREFIX, app=build_api([], journal, body_limit=1000))])
    path = tmp_path / "operator.sock"
    with (
        SocketDiagnostics() as peers,
        socket.create_server(("127.0.0.1", 0)) as port,
        bind_operator_socket(tmp_path) as listener,
    ):
        ready = anyio.Event()
        server = HttpServer(
            Served(Starlette(), port),
            Served(app, listener),
            ready.set,
            max_running=1,
            peers=peers,
            before_shutdown=(journal.close,),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve)
            await ready.wait()
            yield journal, path
            server.should_exit = True


def test_the_port_asks_for_the_last_id_in_the_query_as_well(daemon: Daemon) -> None:
    """Issue 13, 1: a browser's EventSource sets no header."""
    opened = EventStream(daemon.runtime_dir / "operator.sock", "nonsense")
    with opened:
        assert (opened.next().event, opened.next().event) == ("gap", "stream_opened")
    reply = rpc.request(f"{daemon.url}/api/v1/events", "DELETE")
    assert reply.status == 405
