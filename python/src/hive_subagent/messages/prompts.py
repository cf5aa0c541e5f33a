"""The prompts of a subagent, turn by turn."""

from __future__ import annotations

from hive_subagent.claude.mcp_config import SIGNAL

DEFAULT_TRIGGER = "Carry out the instructions of your system prompt now."

READER_NOTE = """

Another agent started you, and it reads your last message when your turn ends: nothing else of what
you say, and nothing of what your tools print. So your last message has to hold the whole answer.
The agent is shown the first 8,000 bytes of it and would have to open a file for more.
"""
"""The end of a brief: who reads the last message, and how much of it."""

CHILD_NOTE = """
Another agent gave you this task and waits for its end. You work alone: nobody can be asked, and you
hand nothing on to others. Where something is unclear, decide, and say what you assumed. Your last
message is all that the other agent gets to read, so it must hold the whole answer. The agent is
shown the first 8,000 bytes of it and would have to open a file for more.
"""
"""The end of the brief of a delegation's child."""


def first_prompt(prompt: str, *, goal: str | None, max_turns: int) -> str:
    """The first message of a run."""
    if goal is None:
        return prompt
    return (
        f"{prompt}\n\nThe goal of this run: {goal}\n{_signals()} You have {turns(max_turns)} for"
        " it; a turn that ends without either call is followed by the next."
    )


def next_prompt(*, goal: str, turn: int, max_turns: int) -> str:
    """The message that opens another turn of a goal run."""
    last = " This is the last turn." if turn == max_turns else ""
    return (
        f"The goal of this run is not reported reached: {goal}\nGo on with it. {_signals()}"
        f" This is turn {turn} of {max_turns}.{last}"
    )


def _signals() -> str:
    return (
        f"When it is truly reached, call goal_reached of the {SIGNAL} server; do not call it to be"
        " done. When you cannot go on without an answer, call need_help with your question."
    )


def turns(count: int) -> str:
    """A number of turns in words."""
    return "1 turn" if count == 1 else f"{count} turns"
