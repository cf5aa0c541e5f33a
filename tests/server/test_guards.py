"""The guards by themselves: what counts as this machine where it listens on more than loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from hive_subagent.server.guards import (
    LocalNames,
    LocalOnly,
    OwnerOnly,
    TokenHoldersOnly,
    read_token,
)


async def status(app: Any, *headers: tuple[str, str], kind: str = "http", **further: Any) -> int:
    """The status that `app` answers a request with; 0 where it answers nothing."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": kind, "method": "GET", "path": "/", "headers": raw, **further}
    told: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    await app(scope, receive, send)
    return told[0] if told else 0


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await PlainTextResponse("in")(scope, receive, send)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_behind_a_wildcard_any_address_is_served_and_no_other_name(host: str) -> None:
    """R25: a literal address is never the name of a page."""
    guard = LocalOnly(inside, local=LocalNames(host, 80))
    for name in ("10.0.0.5", "10.0.0.5:80", "[fd00::1]:80", "localhost", "127.0.0.1:8080"):
        assert await status(guard, ("Host", name)) == 200, name
    for name in ("evil.example", "box.lan", "10.0.0.5.evil.example", "0x7f000001"):
        assert await status(guard, ("Host", name)) == 421, name
    assert await status(guard, ("Host", "10.0.0.5"), ("Origin", "http://10.0.0.5:80")) == 200
    assert await status(guard, ("Host", "10.0.0.5"), ("Origin", "http://evil.example:80")) == 403


async def test_the_name_that_is_listened_on_is_served(anyio_backend: str) -> None:
    guard = LocalOnly(inside, local=LocalNames("Box.Lan", 8717))
    for name in ("box.lan", "BOX.lan:8717", "localhost"):
        assert await status(guard, ("Host", name)) == 200, name
    assert await status(guard, ("Host", "other.lan")) == 421


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Host", "localhost"), ("Host", "evil.example")],
        [("Host", "evil.example"), ("Host", "localhost")],
        [("Host", "evil.example@localhost")],
        [("Host", "localhost/evil")],
        [("Host", "localhost?evil")],
        [("Host", "localhost\\evil")],
    ],
)
async def test_a_host_that_is_missing_doubled_or_more_than_a_name_is_refused(
    headers: list[tuple[str, str]],
) -> None:
    """R25: a proxy or a parser may read it otherwise than we do."""
    assert await status(LocalOnly(inside, local=LocalNames("127.0.0.1", 80)), *headers) == 421


async def test_every_origin_has_to_be_ours(anyio_backend: str) -> None:
    guard = LocalOnly(inside, local=LocalNames("127.0.0.1", 80))
    ours, theirs = ("Origin", "http://127.0.0.1:80"), ("Origin", "http://evil.example")
    host = ("Host", "127.0.0.1")
    assert await status(guard, host, ours) == 200
    assert await status(guard, host, ours, theirs) == 403
    assert await status(guard, host, theirs, ours) == 403


async def test_the_life_of_the_app_passes_every_guard(anyio_backend: str) -> None:
    for guard in (
        LocalOnly(inside, local=LocalNames("127.0.0.1", 80)),
        OwnerOnly(inside, "token"),
        TokenHoldersOnly(inside, lambda token: False),
    ):
        assert await status(guard, kind="lifespan") == 0


async def test_a_token_holder_is_known_by_the_path_alone(anyio_backend: str) -> None:
    guard = TokenHoldersOnly(inside, lambda token: token == "known")
    assert await status(guard, path_params={"token": "known"}) == 200
    assert await status(guard, ("Authorization", "Bearer known"), path_params={}) == 404
    assert await status(guard, path_params={"token": "unknown"}) == 404


@pytest.mark.parametrize(
    ("host", "warned"),
    [
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("10.0.0.5", True),
        ("box.lan", True),
    ],
)
def test_a_port_open_to_other_machines_is_logged(
    host: str, *, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_token(None, host=host) is None
    assert ("anybody who reaches this port is the owner" in caplog.text) == warned
    caplog.clear()
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o600)
    assert read_token(tmp_path / "token", host=host) == "secret"
    assert caplog.text == ""


def test_a_token_that_everybody_can_read_is_said_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o644)
    assert read_token(tmp_path / "token", host="127.0.0.1") == "secret"
    assert f"{tmp_path / 'token'} can be read by everybody" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8717", 200),
        ("https://127.0.0.1:8717", 403),
        ("ftp://127.0.0.1:8717", 403),
        ("//127.0.0.1:8717", 403),
        ("127.0.0.1:8717", 403),
        ("chrome-extension://localhost:8717", 403),
        ("https://agent.example", 200),
        ("https://agent.example:443", 200),
        ("http://agent.example", 200),
        ("http://agent.example:8717", 200),
        ("https://agent.example:8717", 403),
        ("https://agent.example:8443", 403),
        ("ftp://agent.example", 403),
        ("https://box.lan:8443", 200),
        ("https://box.lan", 403),
        ("https://evil.agent.example", 403),
    ],
)
async def test_the_scheme_of_an_origin_counts(origin: str, expected: int) -> None:
    """Issue 10, 12 and 16: the daemon speaks plain HTTP, a proxy of it may speak TLS."""
    local = LocalNames("127.0.0.1", 8717, ["agent.example", "box.lan:8443"])
    guard = LocalOnly(inside, local=local)
    assert await status(guard, ("Host", "127.0.0.1"), ("Origin", origin)) == expected


async def test_a_host_without_a_scheme_is_served_on_port_80(anyio_backend: str) -> None:
    guard = LocalOnly(inside, local=LocalNames("127.0.0.1", 80))
    assert await status(guard, ("Host", "localhost"), ("Origin", "http://localhost")) == 200


async def test_an_allowed_name_is_served_and_no_other(anyio_backend: str) -> None:
    """Issue 10, 16."""
    local = LocalNames("127.0.0.1", 8717, ["agent.example", "box.lan:8443", "[fd00::7]"])
    guard = LocalOnly(inside, local=local)
    for name in ("agent.example", "AGENT.example:8717", "box.lan", "box.lan:8443", "[fd00::7]:1"):
        assert await status(guard, ("Host", name)) == 200, name
    for name in ("other.example", "x.agent.example", "agent.example.evil", "fd00::7", "lan"):
        assert await status(guard, ("Host", name)) == 421, name


LOCAL = LocalNames("127.0.0.1", 8717, ["agent.example:8443", "[fd00::7]"])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8717/mcp",
        "http://LocalHost:8717/x/../mcp",
        "http://[::1]:8717/mcp",
        "http://user@127.0.0.1:8717/mcp",
        "http://${NAME}:${UNSET:-8717}/mcp",
        "http://${NAME:-search.lan}:8717/mcp",
        # issue 10, 16: a proxy of ours, which has a port of its own
        "https://agent.example/mcp",
        "http://AGENT.example:1/",
        "http://[fd00::7]:9/",
        # these cannot be read
        "http://[::1:8717/mcp",
        "http://127.0.0.1:x/mcp",
    ],
)
def test_an_address_of_this_daemon_is_recognised(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """R29."""
    monkeypatch.setenv("NAME", "127.0.0.1")
    assert LOCAL.is_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/mcp",
        "http://127.0.0.1/mcp",
        "http://search.lan:8717/mcp",
        "https://${UNSET:-search.lan}/mcp",
        "https://other.example/mcp",
        "",
    ],
)
def test_an_address_of_another_server_is_not_taken_for_this_daemon(url: str) -> None:
    assert not LOCAL.is_address(url)


def test_an_address_without_a_port_has_that_of_its_scheme() -> None:
    assert LocalNames("127.0.0.1", 80).is_address("http://localhost/mcp")
    assert not LocalNames("127.0.0.1", 443).is_address("http://localhost/mcp")
