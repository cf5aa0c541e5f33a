"""`http://…` and `https://…`: each notice is POSTed; accepted when the answer is 2xx.

Imported only where such a sink is configured: httpx2 takes long to import. The path and the query
of a URL may be a secret (they are, for many services), so neither logs nor errors show them.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import ssl
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx2

from hive_subagent import __version__
from hive_subagent.errors import Refused
from hive_subagent.models.notices import Notice
from hive_subagent.outbox.sinks import NotAccepted, encode_notice
from hive_subagent.system.blocking import in_thread
from hive_subagent.system.operator_input import read_given

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 10.0
TIMEOUT_S = 30.0
"""The most that one delivery may take, from the look-up of the name on."""

SIGNATURE = "X-Hive-Signature-256"
LONGEST_SECRET = 4096

# they log each request with its URL
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

# answers that say nothing of this one notice: the others would get the same
_NOT_THIS_NOTICE = (401, 403, 404, 405, 407, 408, 410, 421, 425, 429, 502, 503, 504)


class HttpSink:
    """A POST for each notice. Raises ValueError for a URL that cannot be used."""

    def __init__(
        self,
        url: str,
        *,
        secret_file: Path | None = None,
        events: bool = False,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        parts = _checked(url)
        assert parts.hostname is not None
        self.events = events
        self._url = url
        self._secret_file = secret_file
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._direct = _is_loopback(parts.hostname)
        self._timeout = httpx2.Timeout(answer_timeout_s, connect=CONNECT_TIMEOUT_S)
        self._tls: ssl.SSLContext | None = None

    @property
    def key(self) -> str:
        digest = hashlib.sha256(self._url.encode()).hexdigest()
        return f"{self._origin}#{digest[:16]}"

    async def deliver(self, notice: Notice) -> None:
        await self.send(notice.id, encode_notice(notice))

    async def send(self, name: str, line: bytes) -> None:
        """POST one line, which `name` identifies. Raises NotAccepted."""
        reached = True
        try:
            headers = await self._headers(name, line)
            with anyio.fail_after(TIMEOUT_S):
                status = await self._post(line, headers)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            reason, reached = f"no connection: {_said(error)}", False
        except (httpx2.TimeoutException, TimeoutError):
            reason = "no answer in time"
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = f"no answer: {type(error).__name__}"
        except ValueError:  # from the making of a client; it quotes what may hold a password
            reason, reached = "the proxy that the environment names cannot be used", False
        except (OSError, Refused) as error:
            reason, reached = getattr(error, "strerror", None) or str(error), False
        else:
            if 200 <= status < 300:
                return
            reason, reached = f"answered {status}", not _is_about_all(status)
            if 300 <= status < 400:
                reason += "; redirects are not followed: write the address where it ends"
        raise NotAccepted(f"{self._origin}: {reason}", reached=reached)

    async def _post(self, line: bytes, headers: dict[str, str]) -> int:
        if self._tls is None:
            # what the system trusts, SSL_CERT_FILE and SSL_CERT_DIR included
            self._tls = ssl.create_default_context()
        # not kept: between two notices lie hours
        async with (
            httpx2.AsyncClient(
                verify=self._tls,
                timeout=self._timeout,
                follow_redirects=False,
                trust_env=not self._direct,
            ) as client,
            client.stream("POST", self._url, content=line, headers=headers, auth=None) as answer,
        ):
            return answer.status_code

    async def _headers(self, name: str, line: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": name,
            "User-Agent": f"hive-subagent/{__version__}",
        }
        if self._secret_file is not None:
            # each time anew, so that a changed secret counts at once
            what = f"secret_file {self._secret_file}"
            try:
                secret = await in_thread(read_secret, self._secret_file, what=what)
            except OSError as error:
                raise OSError(None, f"{what}: {error.strerror}") from None
            digest = hmac.new(secret, line, hashlib.sha256).hexdigest()
            headers[SIGNATURE] = f"sha256={digest}"
        return headers


def read_secret(file: Path) -> bytes:
    """The secret in a file, without the white space around it. Raises OSError."""
    secret = read_given(file, limit=LONGEST_SECRET).strip()
    if not secret:
        raise OSError(None, "it is empty", str(file))
    return secret


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("an address is no URL; write https://HOST/PATH") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("an address is no URL of http or https; write https://HOST/PATH")
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "a URL holds a user name or a password, which logs would show; remove them and use"
            " secret_file"
        )
    if parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(
            f"the URL of {parts.hostname} holds a fragment or characters that belong escaped;"
            " remove or escape them"
        )
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _is_about_all(status: int) -> bool:
    return 300 <= status < 400 or status in _NOT_THIS_NOTICE


def _said(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0][:200]
