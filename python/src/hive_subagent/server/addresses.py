"""Whether an address is that of this very daemon, in whatever way it is written.

Whatever cannot be understood and may be ours counts as ours: a server that a child does without is
a smaller loss than a child that delegates.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import socket
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from hive_subagent.claude.invocation import child_environment
from hive_subagent.settings import Settings

RESOLVE_S = 3.0
"""Seconds that a name may take to be resolved."""

MOST_VARIABLES = 6
"""Variables of an address; one with more is not understood."""

Resolve = Callable[[str], Sequence[str] | None]
"""The addresses of a name; None where that cannot be told."""

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
# as URL parsers read it (WHATWG): any number of slashes of either kind, or none
_URL = re.compile(r"(https?|wss?):[/\\]*([^/\\?#]*)", re.IGNORECASE | re.ASCII)
_PLACE = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]+)(?::0*([0-9]{0,5}))?", re.ASCII)
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_BLANK = "".join(map(chr, range(0x21)))


def addresses_of(name: str) -> Sequence[str] | None:
    """What the system resolves a name to, within `RESOLVE_S`."""
    found: list[list[str]] = []

    def look() -> None:
        with suppress(OSError, UnicodeError):
            found.append([str(entry[4][0]) for entry in socket.getaddrinfo(name, None)])

    # a resolver can take minutes, and a daemon that stops must not wait for it
    thread = threading.Thread(target=look, name="resolve", daemon=True)
    thread.start()
    thread.join(RESOLVE_S)
    return found[0] if found else None


def own_address(settings: Settings, host: str, port: int) -> Callable[[str], bool]:
    """`leads_to` for the daemon that listens there, as its children write addresses."""
    return partial(
        leads_to,
        host=host,
        port=port,
        proxies=frozenset(urlsplit(f"//{name}").hostname or "" for name in settings.allowed_hosts),
        environment=child_environment(
            os.environ, config_dir=settings.child_config_dir, further=settings.child_env
        ),
    )


def leads_to(
    address: str,
    host: str,
    port: int,
    *,
    proxies: Set[str] = frozenset(),
    environment: Mapping[str, str] = MappingProxyType({}),
    resolve: Resolve = addresses_of,
) -> bool:
    """Whether a server's address is that of the daemon that listens on `host` and `port`.

    `environment` is what claude expands `${NAME}` and `${NAME:-default}` from. May wait for a
    resolver, where a name stands before our port. `proxies` are names that lead here on any port.
    """
    written = _expanded(address, environment)
    if written is None:
        return True
    known = lru_cache(maxsize=None)(resolve)
    for text, blanked in written:
        leads = _leads(text, host, port, known, proxies)
        if leads is None:
            leads = not blanked and str(port) in unicodedata.normalize("NFKC", text)
        if leads:
            return True
    return False


def _expanded(address: str, environment: Mapping[str, str]) -> Iterator[tuple[str, bool]] | None:
    """What an address can become, and whether a variable was left empty in it.

    None where that is not known. 2.1.332 leaves some variables empty that hold secrets (read in
    its code), and takes a default where the variable is not there.
    """
    literal, *rest = _VARIABLE.split(address)
    if len(rest) > 2 * MOST_VARIABLES:
        return None
    choices: list[list[tuple[str, bool]]] = [[(literal, False)]]
    for variable, after in zip(rest[::2], rest[1::2], strict=True):
        name, has_default, default = variable.partition(":-")
        values = [environment[name]] if name in environment else []
        values += [default] if has_default else []
        if not values:
            return None
        choices.append([*((value, False) for value in values), ("", True)])
        choices.append([(after, False)])
    return (
        ("".join(text for text, _ in chosen), any(blank for _, blank in chosen))
        for chosen in itertools.product(*choices)
    )


def _leads(text: str, host: str, port: int, resolve: Resolve, proxies: Set[str]) -> bool | None:
    """None where it cannot be told."""
    text = text.strip(_BLANK).translate(dict.fromkeys(map(ord, "\t\r\n")))
    url = _URL.match(text)
    place = _PLACE.fullmatch(url[2].rpartition("@")[2]) if url else None
    if url is None or place is None:
        return None
    name = _plain(unquote(place[1]))
    if name is not None and name.strip("[].") in proxies:
        return True
    if int(place[2] or _PORTS[url[1].lower()]) != port:
        return False
    return None if name is None else _is_here(name, host.lower(), resolve)


def _plain(name: str) -> str | None:
    """A host's name in lower case; None for what can be none."""
    try:
        # full-width digits, circled ones, the full stops of other scripts: all become plain
        return (name if name.isascii() else name.encode("idna").decode()).lower()
    except UnicodeError:
        return None


def _is_here(name: str, host: str, resolve: Resolve) -> bool | None:
    listens = _literal(host)
    wildcard = listens is not None and listens.is_unspecified
    literal = _literal(name)
    if literal is not None:
        # behind a wildcard every address of the machine is ours, also those it has through others
        return wildcard or _is_of_this_machine(literal)
    name = name.rstrip(".")
    own = socket.gethostname().lower()
    if name in (host, own, own.partition(".")[0]) or f".{name}".endswith(".localhost"):
        return True
    addresses = resolve(name) if name and not name.startswith("[") else None
    if not addresses:
        return None
    return any(_is_of_this_machine(ip_address(found.partition("%")[0])) for found in addresses)


def _literal(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        if ":" in name:
            return IPv6Address(name.strip("[]").partition("%")[0])
    with suppress(OSError):
        # fewer than four parts, hexadecimal and octal ones: as URL parsers do
        return IPv4Address(socket.inet_aton(name.removesuffix(".")))
    return None


def _is_of_this_machine(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or not int(address) >> 32):
        # an IPv4 address in IPv6's clothes; ::1 is 0.0.0.1 then
        if address.is_loopback:
            return True
        address = address.ipv4_mapped or IPv4Address(int(address))
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True
