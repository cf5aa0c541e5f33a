"""Each stream that was recorded of the real CLI has the outcome that it had."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.batches import batch_of

from hive_subagent.claude import protocol
from hive_subagent.claude.conversation import Conversation, Message
from hive_subagent.claude.outcome import Completed, Exit, Failed, Killed, Outcome, decide

SAMPLES = Path(__file__).parent / "samples"

# exit codes as they were when the samples were taken; all others ended with 0
_EXITS = {
    "interrupted-api-sigterm": 143,
    "interrupted-sigterm": 143,
    "killed": -9,
    "killed-partial-line": -9,
    "resume-miss": 1,
    "resume-miss-uuid": 1,
    "resume-ambiguous": 1,
    # ended by hand, still waiting for the API
    "api-hang": -9,
}
_KILLED = {
    "api-hang": "SIGKILL",
    "interrupted": "SIGINT",
    "interrupted-api-sigterm": "SIGTERM",
    "interrupted-sigterm": "SIGTERM",
    "killed": "SIGKILL",
    "killed-partial-line": "SIGKILL",
    # a tool that was denied with "interrupt", and a control interrupt of the first turn
    "stream-can-use-tool": "SIGINT",
    "stream-input-interrupt": "SIGINT",
}
_FAILED = {
    "api-error": "API Error",
    "api-error-401": "Invalid API key",
    "api-error-429": "API Error",
    "api-error-529": "API Error",
    "api-error-529-after-tool": "API Error",
    "api-error-model-not-found": "selected model",
    "api-error-prompt-too-long": "Prompt is too long",
    "hook-batch-stop": "hook_stopped",
    "hook-continue-false": "hook_stopped",
    "hook-continue-false-events": "hook_stopped",
    "interrupted-api-sigint": "gave no result",
    "resume-ambiguous": "matches 2 sessions",
    "resume-miss": "does not match any session title",
    "resume-miss-uuid": "No conversation found",
    "stream-input-priority-now": "aborted_tools",
    "stream-replay-acks": "aborted_tools",
    "prompt-blocked": "blocked by hook:\npolicy says no",
    "prompt-blocked-exit2": "blocked by hook:\n[echo 'no such prompts here' >&2; exit 2]: no such",
    "prompt-bom": "Blank prompt",
    "prompt-stopped": "Operation stopped by hook: stopped by policy",
    "truncated-at-exit": "gave no result",
    # recordings of the MCP wire, not of claude's output
    "wire-rawmcp-modern": "gave no result",
    "wire-rawmcp-stateful": "gave no result",
}
# the whole answer stands in the lines before the result, or there is none
_EMPTY = {"answer-beside-tool", "answer-silent", "stop-hooks-overridden"}


def first_turn_of(sample: Path) -> Outcome:
    """The outcome of the first message of a recorded stream."""
    data = sample.read_bytes()
    replayed = [
        event["uuid"]
        for event in map(protocol.parse, data.split(b"\n"))
        if event is not None and event.get("isReplay") and "uuid" in event
    ]
    conversation = Conversation()
    message = conversation.sent(Message(replayed[0] if replayed else ""))
    conversation.take(batch_of(data[: data.rfind(b"\n") + 1]))
    return decide(message.result, Exit(_EXITS.get(sample.stem, 0)))


@pytest.mark.parametrize(
    "sample", sorted(SAMPLES.glob("*/*.jsonl")), ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_each_recorded_stream_has_its_outcome(sample: Path) -> None:
    outcome = first_turn_of(sample)
    if sample.stem in _KILLED:
        assert isinstance(outcome, Killed)
        assert outcome.signal == _KILLED[sample.stem]
    elif sample.stem in _FAILED:
        assert isinstance(outcome, Failed)
        assert _FAILED[sample.stem] in outcome.message
    else:
        assert isinstance(outcome, Completed)
        assert bool(outcome.text) is (sample.stem not in _EMPTY)


def test_the_samples_are_all_there() -> None:
    assert len(list(SAMPLES.glob("*/*.jsonl"))) > 50
