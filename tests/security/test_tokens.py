"""Tokens: each opens its own door, is looked for in one place, and is told nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import rpc
from support.daemon import Daemon
from support.stub import HANG, bash, script, text

from security.rude import OWNER, OWNER_TOKEN, connect, head, raw, signal_urls, statuses

STATUS = rpc.body_of("status", {})
HELP = rpc.body_of("need_help", {"message": "let me in"})


async def begin_with_url(daemon: Daemon, does: str = "") -> tuple[str, str]:
    """A running goal run and the address of its signals."""
    before = signal_urls(daemon)
    name = await daemon.begin(does or script(HANG), goal="be done", max_turns=1)
    (url,) = [url for url in signal_urls(daemon) if url not in before]
    return name, url


def post(url: str, body: bytes, **headers: str) -> rpc.Reply:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return rpc.request(url, "POST", body, {**rpc.HEADERS, **given})


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"Cookie": f"token={OWNER_TOKEN}"},
        {"Proxy_Authorization": f"Bearer {OWNER_TOKEN}"},
        {"X_Auth_Token": OWNER_TOKEN},
        {"Mcp_Session_Id": OWNER_TOKEN},
        {"Authorization": f"Bearer {OWNER_TOKEN}, Bearer {OWNER_TOKEN}"},
        {"Authorization": f"Bearer {OWNER_TOKEN}\t."},
        {"Authorization": f"Bearer {OWNER_TOKEN.upper()}"},
    ],
)
def test_the_owners_token_counts_nowhere_but_in_its_header(
    guarded: Daemon, elsewhere: dict[str, str]
) -> None:
    assert post(f"{guarded.url}/mcp", STATUS, **elsewhere).status == 401


@pytest.mark.parametrize("query", ["token", "access_token", "Authorization"])
def test_the_owners_token_does_not_count_in_an_address(guarded: Daemon, query: str) -> None:
    line = f"POST /mcp?{query}={OWNER_TOKEN}"
    answer = raw(guarded, head(guarded, line, Content_Length="0", **rpc.HEADERS))
    assert statuses(answer) == [401]


def test_a_wrong_token_before_the_right_one_is_refused(guarded: Daemon) -> None:
    both = b"Authorization: Bearer x\r\nAuthorization: Bearer " + OWNER_TOKEN.encode() + b"\r\n\r\n"
    asked = head(guarded, "POST /mcp", Content_Length="0")[:-2] + both
    assert statuses(raw(guarded, asked)) == [401]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_every_method_needs_the_token(guarded: Daemon, method: str) -> None:
    for path in ("/mcp", "/mcp/", "//mcp", "/mcp/../mcp", "/MCP", "/", "/x/mcp"):
        answer = raw(guarded, head(guarded, f"{method} {path}"))
        assert statuses(answer) in ([401], [404]), path


@pytest.mark.parametrize("line", ["CONNECT 127.0.0.1:22", "OPTIONS *", "GET http://evil.example/"])
def test_it_serves_as_no_proxy(guarded: Daemon, line: str) -> None:
    assert statuses(raw(guarded, head(guarded, line))) in ([401], [404])


async def test_a_session_id_of_one_token_opens_nothing_with_another(guarded: Daemon) -> None:
    """R28, R31: there are no sessions to take over; the address alone says who speaks."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "0"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    gate = guarded.gate()
    waits = script({"wait_file": str(gate)}, text("x"))
    one, mine = await begin_with_url(guarded, waits)
    two, other = await begin_with_url(guarded, waits)
    opened = post(mine, json.dumps(message).encode())
    assert opened.status == 200
    session_id = opened.headers.get("mcp-session-id", "0" * 32)

    assert post(f"{guarded.url}/mcp", STATUS, Mcp_Session_Id=session_id).status == 401
    assert post(other, HELP, Mcp_Session_Id=session_id).status == 200
    gate.touch()

    assert (await guarded.ended(one))["stop_reason"] == "turn_cap"
    assert (await guarded.ended(two))["message"] == "let me in"
    for url in (mine, other):
        assert post(url, HELP, Mcp_Session_Id=session_id).status == 404


async def test_no_bend_of_a_path_leads_from_one_token_to_another(guarded: Daemon) -> None:
    """R28."""
    one, mine = await begin_with_url(guarded)
    two, other = await begin_with_url(guarded)
    token, sibling = mine.split("/")[-2], other.split("/")[-2]
    for path in (
        f"/signal/{token}",
        f"/signal/{token}/",
        f"/signal//{token}/mcp",
        f"/signal/{token}x/mcp",
        f"/signal/{token[:-1]}/mcp",
        f"/signal/{token}%00/mcp",
        f"/signal/{token}%2f/mcp",
        f"/signal/{token};x=1/mcp",
        f"/signal/{token}/../{sibling}/mcp",
        f"/signal/{token}/mcp/../../{sibling}/mcp",
        f"/signal/{token}%2f..%2f{sibling}/mcp",
        f"/signal/x/../{sibling}/mcp",
        f"/SIGNAL/{token}/mcp",
        f"/signal/{token}/mcp/x",
        f"/signal/{token}/healthz",
        f"/signal/{token}/signal/{sibling}/mcp",
    ):
        fields = {**rpc.HEADERS, "Content_Length": str(len(HELP))}
        answer = raw(guarded, head(guarded, f"POST {path}", **fields) + HELP)
        assert statuses(answer) in ([401], [404]), path
        assert token.encode() not in answer
    for name in (one, two):
        assert (await guarded.must("interrupt", name=name))["ended"]
        assert (await guarded.must("status", name=name))["message"] is None


async def test_a_page_that_knows_a_token_is_refused_all_the_same(guarded: Daemon) -> None:
    """R25: also on the route of a run that is going on."""
    name, url = await begin_with_url(guarded)
    assert post(url, HELP, Host="evil.example").status == 421
    assert post(url, HELP, Origin="http://evil.example").status == 403
    assert post(f"{guarded.url}/mcp", STATUS, **OWNER, Host="evil.example").status == 421
    assert post(f"{guarded.url}/mcp", STATUS, **OWNER, Origin="null").status == 403
    await guarded.must("interrupt", name=name)
    assert (await guarded.must("status", name=name))["message"] is None


async def test_no_token_is_shown_anywhere(guarded: Daemon) -> None:
    """Not in a log, an answer, a notice, a file, an argument or an environment."""
    shell = bash("env; cat /proc/*/cmdline; perl -e 'sleep 100'")
    name, url = await begin_with_url(guarded, script(shell))
    secrets = {OWNER_TOKEN, url.split("/")[-2]}
    await guarded.in_tool(name)
    post(f"{url}/x", b"{", Authorization=f"Bearer {OWNER_TOKEN}")
    post(url, b"\xff" * 100)
    with connect(guarded) as connection:
        connection.sendall(f"POST /signal/{url.split('/')[-2]}/mcp HTT".encode())
    told = [
        json.dumps((await guarded.call("intervene", name=name, kind="info", text="x")).data),
        json.dumps((await guarded.call("status")).data),
        rpc.request(f"{guarded.url}/healthz").body.decode(),
    ]
    assert guarded.process is not None
    for pid in (guarded.process.pid, *guarded.children()):
        folder = Path(f"/proc/{pid}")
        told += [
            (folder / "cmdline").read_text(errors="replace"),
            (folder / "environ").read_text(errors="replace"),
        ]
    (config,) = (guarded.runtime_dir / "mcp").glob("*.json")
    told += [json.dumps((await guarded.call("interrupt", name=name)).data)]
    post(url, HELP)
    await guarded.notice(name)
    folders = (guarded.state_dir, guarded.runtime_dir, guarded.claude_dir)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    told += [path.read_text(errors="replace") for path in files]
    told += [guarded.log]
    assert not config.exists()
    for secret in secrets:
        assert not [words for words in told if secret in words]
