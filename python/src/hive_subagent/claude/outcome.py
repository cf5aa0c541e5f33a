"""How a turn ended, from what claude left behind. Pure.

The exit code lies (0 after an interrupt, 1 after an answered turn), `subtype` lies ("success" for
every API error) and a signal may come after the work is done. So a completed result decides;
without one the signal does, and then nothing is ever called finished.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hive_subagent.claude.failures import cause_of
from hive_subagent.models.session import Cause, FailureCause

STDERR_TOLD = 4_000
"""Bytes of the end of stderr that a failure tells: the reason stands last."""

_HALTED = frozenset({"hook_stopped", "stop_hook_prevented"})

# claude ends with 128+N when it handles a signal itself (143 after SIGTERM)
_SIGNAL_EXIT_BASE = 128


@dataclass(frozen=True)
class Completed:
    """The turn was answered; `text` is the final text."""

    text: str


@dataclass(frozen=True)
class Killed:
    """The turn was cut; `signal` is the signal's name where one is known.

    `cause` is None for a SIGKILL of which nobody can tell whether the kernel sent it for memory.
    """

    cause: Cause | None
    signal: str | None
    message: str | None = None


@dataclass(frozen=True)
class Failed:
    """The turn ended by itself without an answer; `message` holds claude's own words."""

    message: str
    cause: FailureCause = FailureCause.OTHER


@dataclass(frozen=True)
class Stopped:
    """The turn ended after a step because its owner asked for that; `text` is its last text."""

    text: str


Outcome = Completed | Killed | Failed | Stopped


@dataclass(frozen=True)
class Exit:
    """How the process ended: `code` as in `subprocess`, negative for a signal."""

    code: int

    @property
    def signal_name(self) -> str | None:
        """The signal that ended it, also where claude turned it into an exit code."""
        number = -self.code if self.code < 0 else self.code - _SIGNAL_EXIT_BASE
        if number <= 0:
            return None
        try:
            return signal.Signals(number).name
        except ValueError:
            return None if self.code > 0 else f"signal {number}"


def decide(
    result: Mapping[str, Any] | None,
    exit: Exit | None,
    *,
    stopped_by: Cause | None = None,
    halted: bool = False,
    oom: bool | None = False,
    stderr: str = "",
    broken_off: bool = False,
) -> Outcome:
    """The outcome of a turn.

    `result` is the top-level result line that answers the turn, or None. `exit` is None while the
    process lives on for another turn. `stopped_by` is what we did to it before that result came,
    `halted` says that we answered its hook with a halt.
    `oom` says whether the kernel's OOM killer took the process, None that it cannot be told.
    `stderr` is its last words. `broken_off` says that there was an answer, and that claude ended
    while its turn went on, for background work.
    """
    lacking = "before its turn was over" if broken_off else "and gave no result"
    stderr = _end_of(stderr.strip())
    if stopped_by is not None:
        return Killed(stopped_by, exit.signal_name if exit else None)
    if result is not None and asked_nothing(result):
        return Failed(_refusal(result), FailureCause.BLOCKED)
    if result is not None and _is_completed(result):
        return Completed(final_text(result))
    if result is not None and halted and _is_halt(result):
        return Stopped(final_text(result))
    if result is not None and was_aborted(result):
        # nobody of ours asked: somebody sent claude a SIGINT
        return Killed(Cause.SIGNAL, "SIGINT", words(result))
    if result is not None and (exit is None or exit.code >= 0):
        said = words(result) or stderr or "claude reported an error without a word"
        return Failed(said, cause_of(result, said))
    name = exit.signal_name if exit else None
    if name is not None:
        if oom is None and name == "SIGKILL":
            return Killed(None, name)
        return Killed(Cause.OOM if oom else Cause.SIGNAL, name)
    if exit is None:
        how = lacking if broken_off else "without a result"
        return Failed(f"claude's output ended {how}")
    if stderr:
        said = f"{stderr} (claude exited with {exit.code} {lacking})"
        return Failed(said, cause_of(None, stderr))
    return Failed(f"claude exited with {exit.code} {lacking}")


def _end_of(stderr: str) -> str:
    data = stderr.encode("utf-8", "replace")
    return data[-STDERR_TOLD:].decode("utf-8", "ignore").lstrip()


def final_text(result: Mapping[str, Any]) -> str:
    """The text of a result line; empty when it has none."""
    text = result.get("result")
    return text if isinstance(text, str) else ""


def words(result: Mapping[str, Any]) -> str | None:
    """What a result line that is no answer says, in claude's own words."""
    errors = result.get("errors")
    said = [e for e in errors if isinstance(e, str)] if isinstance(errors, list) else []
    text = "\n".join(said).strip() or final_text(result).strip()
    reason = result.get("terminal_reason")
    subtype = result.get("subtype")
    if text:
        return text
    why = next((r for r in (reason, subtype) if isinstance(r, str) and r.strip()), None)
    return f"claude ended with {why}" if why else None


def _is_completed(result: Mapping[str, Any]) -> bool:
    # `is_error` beats `subtype`, which is "success" for API errors; an absent terminal_reason is
    # no failure, another one than "completed" means that a hook or a message cut the turn
    return (
        result.get("type") == "result"
        and not asked_nothing(result)
        and result.get("is_error") is False
        and result.get("subtype") == "success"
        and result.get("terminal_reason") in (None, "completed")
    )


def asked_nothing(result: Mapping[str, Any]) -> bool:
    """Whether a result looks like a success, and the model was never asked.

    A hook has blocked the prompt, or claude found nothing in it (measured: 2.1.197, 2.1.332). Two
    tasks that end at once have an empty turn of that kind too, which 2.1.332 tells of in the next.
    """
    return (
        result.get("is_error") is False
        and result.get("num_turns") == 0
        and result.get("stop_reason") is None
        and result.get("terminal_reason") is None
    )


def tells_of_task(result: Mapping[str, Any]) -> bool:
    """Whether a result is that of a turn which the end of a background task has opened."""
    origin = result.get("origin")
    return isinstance(origin, Mapping) and origin.get("kind") == "task-notification"


def _refusal(result: Mapping[str, Any]) -> str:
    # claude repeats the prompt behind its words, and we know that
    said = (words(result) or "").partition("\n\nOriginal prompt:")[0].strip()
    return said or "claude did not give the prompt to its model, without a word"


def is_answer(result: Mapping[str, Any]) -> bool:
    """Whether a result gives an answer of the model, if an empty one."""
    return _is_completed(result) or (
        # a Stop hook ended the turn, whose answer stands; one that ends it after a step leaves none
        result.get("is_error") is False and result.get("terminal_reason") == "stop_hook_prevented"
    )


def _is_halt(result: Mapping[str, Any]) -> bool:
    return result.get("is_error") is False and result.get("terminal_reason") in _HALTED


def was_aborted(result: Mapping[str, Any]) -> bool:
    """Whether a result says that an interrupt or a SIGINT cut the turn."""
    return result.get("is_error") is True and result.get("terminal_reason") in (
        "aborted_tools",
        "aborted_streaming",
    )
