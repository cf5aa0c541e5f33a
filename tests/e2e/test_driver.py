"""The driver alone against the real binary: what cannot be seen through the daemon's tools."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from e2e.script import Say, bash, say
from e2e.versions import on_both_versions
from e2e.world import World
from hive_subagent.claude import protocol
from hive_subagent.claude.invocation import Invocation, build_argv
from hive_subagent.claude.outcome import Completed, Failed, decide
from hive_subagent.claude.process import RunningClaude

pytestmark = pytest.mark.e2e

FIVE_MB = 5 * 1024 * 1024


def _as_it_is(argv: Sequence[str]) -> Sequence[str]:
    return argv


@asynccontextmanager
async def driven(world: World, *, resume: str | None = None) -> AsyncIterator[RunningClaude]:
    """A claude under the driver, seen out in the end."""
    argv = build_argv(
        str(world.program), session_id=str(uuid.uuid4()), name="driven", resume=resume
    )
    environment = world.sandbox.alone(world.api.url)
    invocation = Invocation(argv, environment, world.sandbox.dir)
    claude = await RunningClaude.spawn(invocation, launcher=_as_it_is)
    try:
        with anyio.fail_after(60):
            yield claude
    finally:
        claude.end_input()
        with anyio.CancelScope(shield=True):
            with anyio.fail_after(30):
                await claude.exited()
            await claude.drain(5)
            await claude.close()


@on_both_versions
async def test_an_answer_of_5_mb_arrives_whole(world: World) -> None:
    """R4. On a plain pipe the CLI exits without draining; stdin held open prevents it."""
    text = ("0123456789abcde\n" * (FIVE_MB // 16))[:-1]
    named = world.api.script(Say(text=text, chunks=200))
    async with driven(world) as claude:
        result = await claude.answered(claude.send(named))
    assert result is not None
    assert decide(result, claude.exit) == Completed(text)


@on_both_versions
async def test_a_miss_is_told_alike_after_initialize_was_sent(world: World) -> None:
    """R20. `initialize` is not answered then, and its answer would be no first event."""
    async with driven(world, resume="nobody") as claude:
        claude._write(protocol.control_request("i1", "initialize"))
        claude.send("go on")
        assert not await claude.first_event()
        result = claude.conversation.last_result
    assert result is not None
    outcome = decide(result, claude.exit)
    assert isinstance(outcome, Failed)
    assert "does not match any session title" in outcome.message
    assert claude.exit is not None
    assert claude.exit.code == 1


@on_both_versions
async def test_every_message_is_replayed_before_the_result_that_answers_it(world: World) -> None:
    async with driven(world) as claude:
        for text in ("one", "two", "three"):
            message = claude.send(world.api.script(say(text)))
            result = await claude.answered(message)
            assert message.consumed
            assert result is not None
            assert result["result"] == text


@on_both_versions
async def test_a_result_of_a_background_task_does_not_answer_a_message_sent_meanwhile(
    world: World,
) -> None:
    gate = anyio.Event()
    background = bash("perl -e 'sleep 1'", run_in_background=True)
    first = world.api.script(background, say("one"), Say(text="of the task", after=gate))
    second = world.api.script(say("two"))
    async with driven(world) as claude:
        await claude.answered(claude.send(first))
        await world.api.until(lambda calls: len(calls) == 3)
        message = claude.send(second)
        gate.set()
        result = await claude.answered(message)
    assert result is not None
    assert result["result"] == "two"


@on_both_versions
async def test_a_turn_that_a_background_task_reopened_can_answer_a_message(world: World) -> None:
    """The one result then carries the task as its origin, though it answers us."""
    background = bash("perl -e 'sleep 1'", run_in_background=True)
    first = world.api.script(background, say("one"), bash("perl -e 'sleep 2'"), say("?"))
    second = world.api.script(say("two"))
    async with driven(world) as claude:
        await claude.answered(claude.send(first))
        await world.api.until(lambda calls: len(calls) == 3)
        result = await claude.answered(claude.send(second))
    assert result is not None
    assert result["result"] == "two"
