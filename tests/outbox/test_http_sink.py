"""`http(s)://…`: an answer of 2xx takes a notice; secrets stay where they are (issue 13, 7)."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.owed import last_entry
from support.processes import until
from support.proxy import Proxy
from support.stub import script, text

from hive_subagent.errors import ConfigurationError
from hive_subagent.outbox.http_sink import HttpSink
from hive_subagent.outbox.sink_entries import parse_sink
from hive_subagent.outbox.sinks import NotAccepted
from hive_subagent.setting_types import UrlEntry
from outbox.owners import make_notice
from outbox.receivers import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made


async def test_a_notice_is_posted_whole_with_its_id_as_a_key_against_repeats(
    receiver: Receiver,
) -> None:
    notice = make_notice("r1", text="é\ud800 " * 100_000)
    await HttpSink(f"{receiver.url}/hook?a=1&b=%20").deliver(notice)
    (request,) = receiver.received
    assert request.method == "POST"
    assert request.path == "/hook?a=1&b=%20"
    assert json.loads(request.body) == notice.model_dump()
    assert request.headers["idempotency-key"] == "r1"
    assert request.headers["content-type"] == "application/json"
    assert not {"x-hive-signature-256", "authorization", "cookie"} & set(request.headers)


async def test_a_secret_signs_the_body_and_a_new_one_counts_at_once(
    receiver: Receiver, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("first\n")
    sink = parse_sink(UrlEntry(url=receiver.url, secret_file=secret))
    await sink.deliver(make_notice("r1"))
    secret.write_text("second")
    await sink.deliver(make_notice("r2"))
    for request, key in zip(receiver.received, (b"first", b"second"), strict=True):
        expected = hmac.new(key, request.body, hashlib.sha256).hexdigest()
        assert request.headers["x-hive-signature-256"] == f"sha256={expected}"
        assert key not in request.body


async def test_without_its_secret_nothing_is_sent(receiver: Receiver, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    sink = parse_sink(UrlEntry(url=receiver.url, secret_file=secret))
    for change in (lambda: secret.write_text(" \n"), secret.unlink):
        change()
        with pytest.raises(NotAccepted, match=f"secret_file {secret}: ") as caught:
            await sink.deliver(make_notice("r1"))
        assert not caught.value.reached
    assert receiver.received == []


@pytest.mark.parametrize(
    ("status", "reached"),
    [(400, True), (409, True), (500, True), (401, False), (429, False), (503, False)],
)
async def test_any_other_answer_takes_nothing(
    receiver: Receiver, status: int, reached: bool
) -> None:
    """`reached` lets other notices go first: not where they would get the same answer."""
    receiver.answer = lambda _: (status, {})
    with pytest.raises(NotAccepted, match=f"{receiver.url}: answered {status}") as caught:
        await HttpSink(f"{receiver.url}/path-secret").deliver(make_notice("r1"))
    assert caught.value.reached is reached


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(receiver: Receiver, status: int) -> None:
    with Receiver() as other:
        receiver.answer = lambda _: (status, {"Location": other.url})
        with pytest.raises(NotAccepted, match="redirects are not followed") as caught:
            await HttpSink(receiver.url).deliver(make_notice("r1"))
        assert other.received == []
    assert not caught.value.reached


async def test_nobody_who_listens_was_not_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(NotAccepted, match="no connection") as caught:
        await HttpSink(f"http://127.0.0.1:{port}/path-secret").deliver(make_notice("r1"))
    assert not caught.value.reached
    assert "path-secret" not in str(caught.value)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 2", b"nonsense\r\n\r\n"])
async def test_an_answer_that_hangs_or_is_none_takes_nothing(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            connection, _ = listener.accept()
            held.append(connection)
            connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        sink = HttpSink(f"http://127.0.0.1:{listener.getsockname()[1]}", answer_timeout_s=0.2)
        with pytest.raises(NotAccepted, match="no answer") as caught:
            await sink.deliver(make_notice("r1"))
        thread.join()
        held[0].close()
    assert caught.value.reached


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_the_proxy_of_the_environment_is_used_but_not_for_the_loopback(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Proxy() as proxy:
        monkeypatch.setenv(variable, proxy.url)
        await HttpSink(receiver.url).deliver(make_notice("r1"))
        await HttpSink(receiver.url.replace("127.0.0.1", "localhost")).deliver(make_notice("r2"))
        assert proxy.asked == []
        with pytest.raises(NotAccepted, match=r"http://intern\.example: answered 502") as caught:
            await HttpSink("http://intern.example/x").deliver(make_notice("r3"))
        assert proxy.asked[0].startswith("POST http://intern.example/x ")
    assert not caught.value.reached
    assert len(receiver.received) == 2


async def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://me:hidden@127.0.0.1:1")
    with pytest.raises(NotAccepted) as caught:
        await HttpSink("http://intern.example/x").deliver(make_notice("r1"))
    assert "proxy" in str(caught.value)
    assert "hidden" not in str(caught.value)


def make_certificate(tmp_path: Path) -> None:
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2", "-keyout", "key", "-out", "cert"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        ],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("openssl cannot make a certificate here")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_certificate_that_nobody_vouches_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that SSL_CERT_FILE names is not."""
    make_certificate(tmp_path)
    with Receiver() as receiver:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
        receiver.serve_tls(context)
        url = receiver.url.replace("http://127.0.0.1", "https://localhost")
        with pytest.raises(NotAccepted, match="CERTIFICATE_VERIFY_FAILED") as caught:
            await HttpSink(url).deliver(make_notice("r1"))
        assert not caught.value.reached
        assert receiver.received == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        await HttpSink(url).deliver(make_notice("r1"))
        assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hidden@hook.example/",
        "https://",
        "http://:80/hidden",
        "https://hook.example:port/hidden",
        "https://hook.example/hidden#x",
        "https://hook.example/hid den",
        "https://hook.example/hidden\r\nX: y",
        "https://[::1/hidden",
        "https://hook.example/hidden?events=1",
    ],
)
def test_a_wrong_url_is_one_line_that_shows_no_secret(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_sink(url)
    assert "hid" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.name == "todo_sinks"


def test_the_key_is_of_the_whole_url_and_shows_the_host_alone(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    first, second = (HttpSink(f"https://hook.example/{name}") for name in ("hidden1", "hidden2"))
    assert first.key != second.key
    assert "hidden" not in first.key
    signed = HttpSink("https://hook.example/hidden1", secret_file=tmp_path / "secret", events=True)
    assert signed.key == first.key, "a change of the rest is the same place"
    assert signed.events
    assert not first.events


async def test_a_secret_file_that_cannot_be_read_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"secret_file {tmp_path}/none: No such file"):
        parse_sink(UrlEntry(url="https://hook.example", secret_file=tmp_path / "none"))


def test_no_client_is_imported_where_no_such_sink_is_named() -> None:
    code = (
        "import sys; from hive_subagent.outbox.sink_entries import parse_sink;"
        "parse_sink('dir:/x'); assert 'httpx2' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_daemon_delivers_to_both_new_sinks_and_again_after_a_restart(
    world: Daemon, receiver: Receiver
) -> None:
    """Accepted once by each; what was refused stays owed over the death of the daemon."""
    take = world.root / "take"
    take.write_text(f"#!/bin/sh\ncat >>{world.root}/taken\n")
    take.chmod(0o755)
    secret = world.root / "secret"
    secret.write_text("a-secret-of-the-operator\n")
    world.settings["todo_sinks"] = [
        f"exec:{take}",
        {"url": f"{receiver.url}/path-secret", "secret_file": str(secret), "events": True},
    ]
    receiver.answer = lambda request: (503, {})
    world.start()
    name = (await world.run(script(text("done"))))["name"]

    def has_program_taken_it() -> bool:
        """As written down: what a crash comes before is delivered again."""
        (file,) = (world.state_dir / "owed").glob("*.json")
        return f"exec:{take}" in last_entry(file.read_bytes()).get("accepted", [])

    await until(lambda: has_program_taken_it() and len(receiver.received) >= 3)
    world.kill()
    assert world.owed() == [name]
    receiver.answer = lambda request: (200, {})
    before = len(receiver.received)
    world.start()
    await until(lambda: world.owed() == [])
    assert world.stop() == 0
    taken = [json.loads(line) for line in (world.root / "taken").read_text().splitlines()]
    after = [json.loads(request.body) for request in receiver.received[before:]]
    assert [notice["id"] for notice in after if "kind" in notice] == [taken[0]["id"]]
    assert len(taken) == 1
    log = world.log_file.read_text()
    assert "answered 503" in log
    assert "path-secret" not in log
    assert "a-secret-of-the-operator" not in log


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_a_program_of_another_user_is_refused_by_the_daemon(world: Daemon) -> None:
    take = world.root / "take"
    take.write_text("#!/bin/sh\n")
    take.chmod(0o755)
    os.chown(take, 12345, 12345)
    world.settings["todo_sinks"] = [f"exec:{take}"]
    process = world.spawn()
    assert process.wait(20) == 2
    assert "belongs to uid 12345" in world.log_file.read_text()
