"""R29: the daemon's own address is known in whatever way it is written."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_subagent.server.addresses import addresses_of, leads_to, own_address
from hive_subagent.settings import Settings

PORT = 8717
# RFC 5737 and 3849: addresses of documentation, which no machine has
ELSEWHERE, ELSEWHERE_6 = "192.0.2.7", "2001:db8::7"
NAMES = {
    "search.lan": [ELSEWHERE, ELSEWHERE_6],
    "alias.lan": [ELSEWHERE, "127.0.0.1"],
    "six.lan": ["::1"],
    "mapped.lan": ["::ffff:127.0.0.1"],
}


def resolved(name: str) -> Sequence[str] | None:
    return NAMES.get(name)


def ours(
    address: str,
    host: str = "127.0.0.1",
    port: int = PORT,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    return leads_to(address, host, port, environment=environment, resolve=resolved)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8717/mcp",
        "http://localhost:8717/mcp",
        "http://LocalHost.:8717/x/../mcp",
        "http://any.localhost:8717/mcp",
        "http://127.0.0.2:8717/mcp",
        "http://127.1:8717/mcp",
        "http://127.0.1:8717/mcp",
        "http://2130706433:8717/mcp",
        "http://0x7f000001:8717/mcp",
        "http://0x7f.1:8717/mcp",
        "http://0177.0.0.1:8717/mcp",
        "http://017700000001:8717/mcp",
        "http://127.0.0.1.:8717/mcp",
        "http://0.0.0.0:8717/mcp",
        "http://0:8717/mcp",
        "http://[::1]:8717/mcp",
        "http://[0:0:0:0:0:0:0:1]:8717/mcp",
        "http://[::]:8717/mcp",
        "http://[::ffff:127.0.0.1]:8717/mcp",
        "http://[::ffff:7f00:1]:8717/mcp",
        "http://[::127.0.0.1]:8717/mcp",
        "http://%6cocalhost:8717/mcp",
        "http://①②⑦.0.0.1:8717/mcp",
        "http://\uff11\uff12\uff17\u30020\uff0e0\uff611:8717/mcp",
        "http://127.0.0.\u00ad1:8717/mcp",
        "http://127.0.0.1:08717/mcp",
        "http://search.lan@127.0.0.1:8717/mcp",
        "http://search.lan:80@127.0.0.1:8717/mcp",
        "http://127.0.0.1:8717",
        "http://127.0.0.1:8717?x",
        "http://127.0.0.1:8717\\mcp",
        "http:127.0.0.1:8717/mcp",
        "http:/127.0.0.1:8717/mcp",
        "http:\\\\127.0.0.1:8717/mcp",
        "http:////127.0.0.1:8717/mcp",
        " \n http://127.0.0.1:8717/mcp",
        "ht\ntp://127.0.\t0.1:87\r17/mcp",
        "HTTP://127.0.0.1:8717/mcp",
        "https://127.0.0.1:8717/mcp",
        f"http://{socket.gethostname()}:8717/mcp",
        "http://alias.lan:8717/mcp",
        "http://six.lan:8717/mcp",
        "http://mapped.lan:8717/mcp",
    ],
)
def test_our_own_address_is_known_in_each_spelling(address: str) -> None:
    assert ours(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://nobody-knows.lan:8717/mcp",
        "http://[::1:8717/mcp",
        "http://127.0.0.1:\uff18717/mcp",
        "http://a b:8717/mcp",
        "http://:8717/mcp",
        "gopher://127.0.0.1:8717/mcp",
        "http://999.0.0.1:8717/mcp",
        "127.0.0.1:8717",
    ],
)
def test_what_cannot_be_understood_with_our_port_in_it_counts_as_ours(address: str) -> None:
    assert ours(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9000/mcp",
        "http://127.0.0.1/mcp",
        "http://127.0.0.1:x/mcp",
        "http://nobody-knows.lan/mcp",
        f"http://{ELSEWHERE}:8717/mcp",
        f"http://[{ELSEWHERE_6}]:8717/mcp",
        "http://search.lan:8717/mcp",
        "http://127.0.0.1@search.lan:8717/mcp",
        "https://search.lan/8717",
        "",
    ],
)
def test_the_address_of_somebody_else_is_not_ours(address: str) -> None:
    assert not ours(address)


def test_an_address_without_a_port_is_that_of_its_scheme() -> None:
    assert ours("http://localhost/mcp", port=80)
    assert ours("https://localhost/mcp", port=443)
    assert not ours("http://localhost/mcp", port=443)


def test_the_name_and_the_addresses_that_the_daemon_listens_on_are_ours() -> None:
    assert ours("http://Box.lan:8717/mcp", "box.lan")
    assert ours(f"http://{ELSEWHERE}:8717/mcp", "0.0.0.0"), "behind a wildcard all of them are"
    assert ours(f"http://[{ELSEWHERE_6}]:8717/mcp", "::")
    assert not ours("http://search.lan:8717/mcp", "0.0.0.0")


@pytest.mark.parametrize(
    ("address", "is_ours"),
    [
        ("http://${HOST}:${PORT}/mcp", True),
        ("${URL}", True),
        ("http://127.0.0.1${EMPTY}:8717", True),
        ("http://127.0.0.1:${UNSET:-8717}", True),
        ("${UNSET:-http://127.1:8717/mcp}", True),
        # whether a variable that is there wins over a default is claude's to say
        ("http://${OTHER:-127.0.0.1}:8717", True),
        ("http://${HOST:-search.lan}:8717", True),
        # one of those that hold secrets is left empty
        ("http://127.0.0.1${OTHER}:8717", True),
        ("${UNSET}", True),
        ("http://search.lan:80/${UNSET}", True),
        ("http://${OTHER}:8717", False),
        ("http://${OTHER}:${PORT}/${EMPTY}", False),
        ("https://${UNSET:-search.lan}/mcp", False),
        ("${OTHER}" * 7, True),
    ],
)
def test_variables_are_expanded_before_an_address_is_judged(address: str, is_ours: bool) -> None:
    environment = {
        "HOST": "127.0.0.1",
        "PORT": "8717",
        "URL": "http://127.0.0.1:8717/mcp",
        "OTHER": "search.lan",
        "EMPTY": "",
    }
    assert ours(address, environment=environment) is is_ours


def test_variables_are_those_of_a_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "127.0.0.1")
    monkeypatch.setenv("PLACE", "192.0.2.7")
    judged = own_address(Settings(state_dir=tmp_path, child_env=["PLACE"]), "127.0.0.1", PORT)
    assert judged("http://${HOME}:8717/mcp")
    assert not judged("http://${PLACE}:8717/mcp")
    unseen = own_address(Settings(state_dir=tmp_path), "127.0.0.1", PORT)
    assert unseen("http://${PLACE}:8717/mcp"), "a child has no such variable"


def test_a_name_is_resolved_by_the_system() -> None:
    assert set(addresses_of("localhost") or ()) & {"127.0.0.1", "::1"}
    assert addresses_of("no such name") is None
    assert leads_to("http://localhost.localdomain:8717", "127.0.0.1", PORT)


@st.composite
def loopback(draw: st.DrawFn) -> str:
    """Any spelling of an address 127.x.x.x, as URL parsers read it."""
    address = (127 << 24) | draw(st.integers(0, 2**24 - 1))
    if draw(st.booleans()):
        inner = ipaddress.IPv6Address((0xFFFF << 32) | address)
        text = draw(st.sampled_from([str(inner), inner.exploded, f"::ffff:{inner.ipv4_mapped}"]))
        return f"[{draw(st.sampled_from([text, text.upper()]))}]"
    spelt: list[Callable[[int], str]] = [
        str,
        hex,
        lambda part: f"0{part:o}",
        lambda part: f"0X{part:X}",
    ]
    count = draw(st.integers(1, 4))
    octets = list(address.to_bytes(4, "big"))
    parts = [*octets[: count - 1], int.from_bytes(bytes(octets[count - 1 :]), "big")]
    return ".".join(draw(st.sampled_from(spelt))(part) for part in parts)


@given(
    loopback(),
    st.sampled_from(["http", "HTTPS", "hTTp"]),
    st.sampled_from(["//", "/", "", "\\/", "///"]),
    st.sampled_from(["", "user@", "search.lan:80@", "a@b@"]),
    st.integers(0, 4),
    st.sampled_from(["", "/mcp", "?x=y", "#z", "\\mcp"]),
    st.booleans(),
)
def test_no_spelling_of_a_loopback_address_passes(
    name: str, scheme: str, slashes: str, user: str, zeros: int, path: str, escaped: bool
) -> None:
    if escaped and not name.startswith("["):
        name = "".join(f"%{ord(character):02X}" for character in name)
    assert ours(f"{scheme}:{slashes}{user}{name}:{'0' * zeros}{PORT}{path}")


def test_a_name_of_a_proxy_of_ours_leads_to_us_on_any_port(tmp_path: Path) -> None:
    """Issue 10, 16: what is allowed as a Host is a way to the daemon."""
    settings = Settings(state_dir=tmp_path, allowed_hosts=["agent.example:8443", "[fd00::7]"])
    judged = own_address(settings, "127.0.0.1", PORT)
    for address in ("https://agent.example/mcp", "http://AGENT.example:1/", "http://[fd00::7]:9/"):
        assert judged(address), address
    assert not judged("https://other.example/mcp")
