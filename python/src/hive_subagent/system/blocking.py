"""Calls that may block for ever, such as file access on a file system that does not answer.

They run in threads of their own, under a time limit. A thread that hangs cannot be ended: it is
left behind, counted, and never keeps the daemon from exiting.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import anyio

from hive_subagent.errors import Refused

T = TypeVar("T")

FILE_TIMEOUT_S = 10.0
"""Seconds that file access for one call may take; a slow disk needs less, a hung one never ends."""

MOST_THREADS = 32
"""Calls at the same time, those that hang included."""

_running: set[threading.Thread] = set()

# what had no answer in time, and the thread that still waits for it
_unanswered: dict[str, threading.Thread] = {}


async def in_thread(
    function: Callable[..., T], *args: Any, what: str, timeout_s: float | None = None
) -> T:
    """Return what `function` returns, or raise what it raises.

    `what` names the path for people. Raises Refused when there is no answer within `timeout_s`
    (`FILE_TIMEOUT_S` where it is None). Raises it at once when an earlier call for the same `what`
    still hangs, so that trying again leaves no further thread behind, and when `MOST_THREADS` calls
    are running: most of them hang already then.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def answered(result: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def hand_over(result: T | None, error: BaseException | None) -> None:
        # the loop may be closed: then nobody waits any more
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(answered, result, error)

    thread = _run(function, args, what, hand_over)
    timeout_s = FILE_TIMEOUT_S if timeout_s is None else timeout_s
    # a client that hangs up amid this ends no call half-way: the run that it asked for begins
    with anyio.move_on_after(timeout_s, shield=True):
        return await answer
    answer.cancel()
    if thread in _running:
        _unanswered[what] = thread
    raise Refused(
        f"{what}: no answer within {timeout_s:g} s: its file system does not respond; use another"
        " path or call again once it does",
        kind="unavailable",
        path=what,
        limit=timeout_s,
    )


def _run(
    function: Callable[..., T],
    args: Sequence[Any],
    what: str,
    hand_over: Callable[[T | None, BaseException | None], None],
) -> threading.Thread:
    if _unanswered.get(what) in _running:
        raise Refused(
            f"{what}: an earlier access to it still has no answer: its file system does not"
            " respond; use another path or call again once it does",
            kind="unavailable",
            path=what,
        )
    if len(_running) >= MOST_THREADS:
        raise Refused(
            f"{what}: not looked at, since {len(_running)} file accesses of this daemon are under"
            " way already: a file system may hang; call again later",
            kind="unavailable",
            path=what,
            limit=MOST_THREADS,
        )

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = function(*args)
        except BaseException as error:  # handed over to the caller
            failure = error
        finally:
            _running.discard(thread)
            if _unanswered.get(what) is thread:
                del _unanswered[what]
        hand_over(result, failure)

    # not a pool: the interpreter waits at its exit for each thread of a pool, also for one that
    # hangs
    thread = threading.Thread(target=work, name=f"file access: {what}"[:80], daemon=True)
    _running.add(thread)
    try:
        thread.start()
    except RuntimeError as error:  # no more threads, or no memory for one
        _running.discard(thread)
        raise Refused(
            f"{what}: not looked at: {error}; call again later", kind="unavailable", path=what
        ) from None
    return thread
