"""Waiting for runs to be over, with signs of life."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

PROGRESS_S = 20.0
"""Seconds between signs of life: clients give up after 300 s of silence."""

Progress = Callable[[float, int], Awaitable[None]]
"""Called with the seconds waited and how many runs are not over yet."""


async def until_over(
    overs: Sequence[anyio.Event | None],
    *,
    any_of_them: bool,
    timeout_s: float,
    progress: Progress,
) -> bool:
    """Wait until all (or any) of the events are set; whether that came within `timeout_s`.

    None stands for a run that was over before.
    """
    began = anyio.current_time()
    deadline = began + timeout_s

    def pending() -> list[anyio.Event]:
        return [over for over in overs if over is not None and not over.is_set()]

    def done() -> bool:
        left = pending()
        return not left or (any_of_them and len(left) < len(overs))

    while not done() and anyio.current_time() < deadline:
        with anyio.move_on_after(min(PROGRESS_S, deadline - anyio.current_time())):
            await _first_of(pending())
        await progress(anyio.current_time() - began, len(pending()))
    return done()


async def _first_of(events: Sequence[anyio.Event]) -> None:
    async with anyio.create_task_group() as tasks:

        async def watch(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for event in events:
            tasks.start_soon(watch, event)
