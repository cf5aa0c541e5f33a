"""Identifiers and clocks in the forms the CLI prints."""

from __future__ import annotations

import os
import time


def uuid4() -> str:
    """A random UUID; the `uuid` module costs more to import than this costs to write."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_uuid(text: str) -> bool:
    """Whether `text` has the shape of a UUID, of any version."""
    parts = text.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(
        digit in "0123456789abcdefABCDEF" for part in parts for digit in part
    )


def token(prefix: str, digits: int = 24) -> str:
    """`prefix` and random hexadecimal digits: `toolu_…`, `msg_…`."""
    return prefix + os.urandom((digits + 1) // 2).hex()[:digits]


def task_id(prefix: str) -> str:
    """A task's short name: a letter for its kind and eight of [a-z0-9]."""
    return prefix + "".join("abcdefghijklmnopqrstuvwxyz0123456789"[b % 36] for b in os.urandom(8))


def timestamp(at: float | None = None) -> str:
    """RFC 3339 in UTC with milliseconds; `at` in seconds since the epoch, now by default."""
    at = time.time() if at is None else at
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}Z"
