"""Messages that come while others are answered: joined, replayed, cut short, cancelled."""

from __future__ import annotations

import pytest

from stub.process import BOTH_WAYS, Home, Json, directive

VERSIONS = ["2.1.197", "2.1.332"]
UUID = "11111111-0000-4000-8000-00000000000{}".format


def echoes(lines: list[Json]) -> list[tuple[str, str]]:
    """The replayed messages with the last digit of their uuid."""
    return [
        (line["message"]["content"], line["uuid"][-1]) for line in lines if line.get("isReplay")
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_messages_that_waited_for_a_turn_are_joined_into_one(home: Home, version: str) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages", version=version)
    go = home.root / "go"
    claude.user(directive({"text": "x"}, {"wait_file": str(go)}), uuid=UUID(1))
    claude.until_type("assistant")
    claude.user("A", uuid=UUID(2))
    claude.user("B")
    claude.user("C", uuid=UUID(4))
    claude.user("D", priority="later", uuid=UUID(5))
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    go.touch()
    claude.result()
    seen = len(claude.seen)
    assert claude.result()["result"] == "ok: A\nB\nC"
    joined = claude.seen[seen:]
    assert echoes(joined) == [("A", "2"), ("A\nB\nC", "4")]
    if version == "2.1.332":
        assert joined[-1]["user_message_uuid"] == UUID(4)
        assert joined[-1]["user_message_uuids"] == [UUID(2), UUID(4)]
        started = [line["command_uuid"] for line in joined if line.get("state") == "started"]
        assert started == [UUID(2), UUID(4)]
    assert claude.result()["result"] == "ok: D"


def test_messages_to_an_idle_process_begin_with_the_first_alone(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    one = b'{"type":"user","message":{"role":"user","content":"%s"}}\n'
    claude.write(one % b"one" + one % b"two" + one % b"three")
    claude.close_stdin()
    assert [line["result"] for line in claude.rest() if line["type"] == "result"] == [
        "ok: one",
        "ok: two\nthree",
    ]


def test_a_message_is_replayed_when_its_answer_begins(home: Home) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages")
    claude.user(directive({"hang": True}))
    claude.until_type("system", "init")
    claude.control("sync", "mcp_status")
    claude.until_type("control_response")
    assert echoes(claude.seen) == []
    claude.control("r1", "interrupt")
    claude.result()
    assert len(echoes(claude.seen)) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_of_priority_now_makes_an_error_of_an_unanswered_turn(
    home: Home, version: str
) -> None:
    claude = home.start(*BOTH_WAYS, "--replay-user-messages", version=version)
    claude.user(directive({"hang": True}))
    claude.until_type("system", "init")
    claude.user("NOW", priority="now")
    first = claude.result()
    assert (first["subtype"], first["terminal_reason"]) == (
        "error_during_execution",
        "aborted_streaming",
    )
    assert first["num_turns"] == 1
    assert echoes(claude.seen) == []
    assert claude.result()["result"] == "ok: NOW"


def test_a_turn_that_failed_is_cancelled_for_its_message(home: Home) -> None:
    claude = home.start(*BOTH_WAYS)
    claude.user(directive({"api_error": 529}), uuid=UUID(1))
    claude.close_stdin()
    states = [line["state"] for line in claude.rest() if line["type"] == "command_lifecycle"]
    assert states == ["queued", "started", "cancelled"]
