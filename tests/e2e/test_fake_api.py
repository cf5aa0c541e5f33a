"""The fake API speaks the Messages API well enough to be believed, and lets go of everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from e2e import sse
from e2e.fake_api import FakeApi, serve
from e2e.script import Fail, Hang, Say, Step, Use, position, say, use


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def api(anyio_backend: str) -> AsyncIterator[FakeApi]:
    async with serve() as running:
        yield running


async def ask(api: FakeApi, *messages: tuple[str, str], stream: bool = True) -> tuple[int, str]:
    """POST a conversation; the status and the body, however it ended."""
    content = [{"role": role, "content": text} for role, text in messages]
    body = json.dumps({"model": "m", "stream": stream, "messages": content}).encode()
    port = int(api.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            b"POST /v1/messages HTTP/1.0\r\ncontent-type: application/json\r\n"
            + f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    return int(head.split()[1]), rest.decode()


def events(body: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


async def test_a_conversation_without_a_script_gets_the_default_answer(api: FakeApi) -> None:
    status, body = await ask(api, ("user", "hello"), stream=False)
    assert (status, json.loads(body)["content"][0]["text"]) == (200, "ok")


async def test_a_script_goes_one_step_on_with_each_answer_of_the_model(api: FakeApi) -> None:
    named = api.script(use("Bash", command="true"), say("one"))
    status, body = await ask(api, ("user", named))
    started = [e for e in events(body) if e["type"] == "content_block_start"]
    assert (status, started[0]["content_block"]["name"]) == (200, "Bash")
    _, body = await ask(api, ("user", named), ("assistant", "x"), ("user", "y"), stream=False)
    assert json.loads(body)["content"][0]["text"] == "one"
    assert [call.step for call in api.of(named)] == [use("Bash", command="true"), say("one")]


async def test_the_newest_message_that_names_a_script_decides(api: FakeApi) -> None:
    first, second = api.script(say("1")), api.script(say("2"))
    _, body = await ask(api, ("user", first), ("assistant", "1"), ("user", second), stream=False)
    assert json.loads(body)["content"][0]["text"] == "2"


async def test_streamed_pieces_add_up_to_the_whole_text(api: FakeApi) -> None:
    text = "äöü" * 1000
    _, body = await ask(api, ("user", api.script(Say(text=text, chunks=7))))
    pieces = [e["delta"]["text"] for e in events(body) if e["type"] == "content_block_delta"]
    assert (len(pieces), "".join(pieces)) == (7, text)


async def test_a_failure_with_a_count_recovers_after_it(api: FakeApi) -> None:
    named = api.script(Fail(status=529, times=2, headers={"retry-after": "0"}))
    assert [(await ask(api, ("user", named), stream=False))[0] for _ in range(3)] == [529, 529, 200]


async def test_an_answer_waits_for_its_event(api: FakeApi) -> None:
    gate = anyio.Event()
    named = api.script(Say(text="late", after=gate))
    async with anyio.create_task_group() as group:
        group.start_soon(ask, api, ("user", named))
        await api.until(lambda calls: len(calls) == 1)
        gate.set()


async def test_a_cut_stream_ends_in_the_middle(api: FakeApi) -> None:
    _, body = await ask(api, ("user", api.script(Say(text="x" * 100, chunks=10, cut=True))))
    assert "message_start" in body
    assert "message_stop" not in body


@pytest.mark.parametrize("step", [Hang(), Hang(in_stream=True), Say(after=anyio.Event())])
async def test_closing_lets_go_of_every_call_that_hangs(anyio_backend: str, step: Step) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group, serve() as api:
            group.start_soon(ask, api, ("user", api.script(step)))
            await api.until(lambda calls: len(calls) == 1)


def test_text_and_tools_stand_in_one_message() -> None:
    whole = sse.message("m", Say(text="a", tools=(Use("T"), Use("U"))))
    assert [block["type"] for block in whole["content"]] == ["text", "tool_use", "tool_use"]
    assert whole["stop_reason"] == "tool_use"


def test_tool_results_do_not_name_scripts() -> None:
    result = {"type": "tool_result", "content": "[[script s9]]"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "[[script s1]]"},
        {"role": "user", "content": [result]},
    ]
    assert position(messages) == ("s1", 0)
