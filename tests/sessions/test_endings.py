"""The table of endings: what status, notice and report file say, now and after a restart."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from support.daemon import Daemon
from support.rpc import Answer
from support.stub import HANG, REACHED, bash, goal_reached, need_help, script, text, turns

GOAL = {"goal": "no warnings are left", "max_turns": 2}
SLEEP = bash("perl -e 'sleep 100'")


@dataclass(frozen=True)
class Row:
    """One way to end, and what has to be told of it. `by` is what ends it, if not itself."""

    does: str
    state: str
    stop_reason: str
    kind: str
    cause: str | None = None
    signal: str | None = None
    message: str | None = None
    result: str | None = None
    turn: int = 1
    further: dict[str, Any] = field(default_factory=dict)
    by: str | None = None


def idle(does: str, reason: str, kind: str, **more: Any) -> Row:
    return Row(does, "idle", reason, kind, **more)


def asking(does: str, message: str) -> Row:
    return Row(
        does, "need_help", "need_help", "need_help", message=message, result="waiting", further=GOAL
    )


def killed(does: str, cause: str, name: str | None, **more: Any) -> Row:
    return Row(does, "killed", "killed", "killed", cause=cause, signal=name, **more)


def failed(does: str, message: str, cause: str = "other", **more: Any) -> Row:
    return Row(does, "failed", "failed", "failed", message=message, cause=cause, **more)


def result_line(**fields: Any) -> str:
    line = {"type": "result", "subtype": "success", "is_error": False, "result": "done", **fields}
    return json.dumps(line) + "\n"


ROWS = {
    "turn ended": idle(script(text("done")), "turn_ended", "finished", result="done"),
    "an exit code after the result": idle(
        script({"raw": result_line()}, {"exit": 3}), "turn_ended", "finished", result="done"
    ),
    "a signal after the result": idle(
        script({"raw": result_line()}, {"die": "SIGKILL"}), "turn_ended", "finished", result="done"
    ),
    "no exit after the result": idle(
        script({"linger": True}, text("done")), "turn_ended", "finished", result="done"
    ),
    "goal reached": idle(
        turns([text("half")], [goal_reached("all done"), text("whole")]),
        "goal_reached",
        "goal_reached",
        message="all done",
        result="whole",
        turn=2,
        further=GOAL,
    ),
    "need help": asking(script(need_help("which one?"), text("waiting")), "which one?"),
    "need help after goal reached": asking(
        script(REACHED, need_help("or not?"), text("waiting")), "or not?"
    ),
    "goal reached after need help": asking(
        script(need_help("or not?"), REACHED, text("waiting")), "or not?"
    ),
    "the cap": idle(
        script(text("more to do")),
        "turn_cap",
        "turn_cap",
        result="more to do",
        turn=2,
        further=GOAL,
    ),
    "SIGKILL": killed(script({"die": "SIGKILL"}), "signal", "SIGKILL"),
    "SIGKILL in the second turn of a goal": killed(
        turns([text("half")], [{"die": "SIGKILL"}]), "signal", "SIGKILL", turn=2, further=GOAL
    ),
    "a signal that claude made an exit code": killed(script({"exit": 143}), "signal", "SIGTERM"),
    "SIGABRT": killed(script({"die": "SIGABRT"}), "signal", "SIGABRT"),
    "an interrupt in a tool": killed(script(SLEEP), "interrupt", None, by="interrupt"),
    "an interrupt in an API wait": killed(script(HANG), "interrupt", None, by="interrupt"),
    "an interrupt by force": killed(script(HANG), "interrupt", "SIGKILL", by="force"),
    "a deaf child": killed(script({"hang_deaf": True}), "interrupt", "SIGKILL", by="interrupt"),
    "a turn over its time": killed(script(HANG), "timeout", None, further={"turn_timeout_s": 0.5}),
    "the daemon stops": killed(script(HANG), "daemon_stop", None, by="stop"),
    "the daemon stops on a deaf child": killed(
        script({"hang_deaf": True}), "daemon_stop", "SIGKILL", by="stop"
    ),
    "an API error": failed(script({"api_error": 529}), "Overloaded", "overloaded"),
    "no result and exit zero": failed(script(text("nearly"), {"exit": 0}), "gave no result"),
    "no result and exit one": failed(script({"stderr": "no luck\n"}, {"exit": 1}), "no luck"),
    "torn output": failed(script({"truncate": 65536}), "gave no result"),
    "a hook that stops it": failed(
        script({"result": {"terminal_reason": "hook_stopped", "result": ""}}),
        "hook_stopped",
        "blocked",
    ),
    "a limit of claude itself": failed(
        script({"raw": result_line(subtype="error_max_turns", is_error=True, errors=["2 turns"])}),
        "2 turns",
    ),
    "a failure in the first turn of a goal": failed(
        script({"api_error": 529}), "Overloaded", "overloaded", further=GOAL
    ),
}
STOPPED = [row for row in ROWS if ROWS[row].by == "stop"]


@dataclass
class Told:
    """What was told of one row's run."""

    name: str
    notices: list[dict[str, Any]] = field(default_factory=list)
    report: str = ""
    status: Answer | None = None
    status_after_restart: Answer | None = None


@pytest.fixture(scope="module")
async def told(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """All rows run in one daemon, which is then stopped and started again."""
    daemon = Daemon(tmp_path_factory.mktemp("world"))
    found = {row: Told(re.sub(r"[^a-z]+", "-", row.lower())) for row in ROWS}
    try:
        daemon.start()
        async with anyio.create_task_group() as tasks:
            for row, one in found.items():
                tasks.start_soon(_play, daemon, ROWS[row], one)
        assert daemon.stop() == 0
        for one in found.values():
            one.notices = daemon.notices(one.name)
            one.report = (daemon.root / f"{one.name}.report").read_text()
        daemon.start()
        for one in found.values():
            one.status_after_restart = await daemon.call("status", name=one.name)
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        print(daemon.log)
    return found


async def _play(daemon: Daemon, row: Row, one: Told) -> None:
    report = daemon.root / f"{one.name}.report"
    name = await daemon.begin(row.does, one.name, report_file=str(report), **row.further)
    if row.by in ("interrupt", "force"):
        if row.does == script(SLEEP):
            await daemon.in_tool(name)
        await daemon.must("interrupt", name=name, force=row.by == "force")
    if row.by != "stop":
        await daemon.ended(name)
        one.status = await daemon.call("status", name=name)


@pytest.mark.parametrize("row", ROWS)
def test_the_state_says_how_a_run_ended_and_says_the_same_after_a_restart(
    told: dict[str, Told], row: str
) -> None:
    expected, one = ROWS[row], told[row]
    for answer in (one.status, one.status_after_restart):
        if answer is None:
            assert row in STOPPED
            continue
        session = answer.data
        told_of_it = {
            "name": one.name,
            "state": expected.state,
            "stop_reason": expected.stop_reason,
            "cause": expected.cause,
            "signal": expected.signal,
            "turn": expected.turn,
            "max_turns": expected.further.get("max_turns", 1),
            "goal": expected.further.get("goal"),
            "result": expected.result,
            "last_event_age_s": None,
            "open_tool": None,
            "peak_memory_bytes": None,
        }
        assert {key: session[key] for key in told_of_it} == told_of_it
        message = session["message"]
        if expected.state == "failed":
            assert expected.message is not None
            assert expected.message in message
        else:
            assert message == expected.message
    if one.status is not None:
        assert one.status == one.status_after_restart


@pytest.mark.parametrize("row", ROWS)
def test_one_notice_and_the_report_file_say_it_in_the_same_words(
    told: dict[str, Told], row: str
) -> None:
    """R17 for the rows that the daemon's own stop ended."""
    one = told[row]
    assert one.status_after_restart is not None
    session = one.status_after_restart.data
    (notice,) = one.notices
    assert notice == {
        "id": notice["id"],
        "source": "subagent",
        "name": one.name,
        "session_id": session["session_id"],
        "kind": ROWS[row].kind,
        "text": one.status_after_restart.text,
        "report_file": session["report_file"],
        "result_file": session["result_file"],
        "at": notice["at"],
    }
    assert one.report == f"{notice['at']} {notice['text']}\n"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", notice["at"])


@pytest.mark.parametrize("row", ROWS)
def test_only_a_completed_turn_is_called_finished(told: dict[str, Told], row: str) -> None:
    """R4: whatever the exit code was."""
    words = told[row].notices[0]["text"]
    finished = ROWS[row].stop_reason == "turn_ended"
    assert ("finished its turn" in words) == finished
    assert ("did NOT finish" in words) == (ROWS[row].state == "killed")


def test_a_goal_is_told_as_self_reported_and_a_cap_aloud(told: dict[str, Told]) -> None:
    assert "self-reported" in told["goal reached"].notices[0]["text"]
    cap = told["the cap"].notices[0]["text"]
    assert "harness limit of 2 turns" in cap
    assert "never reported reached" in cap
    assert "NEEDS HELP" in told["need help"].notices[0]["text"]
