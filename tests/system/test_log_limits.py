"""What callers can have logged is bounded (issue 10, 9)."""

from __future__ import annotations

import logging

import pytest

from hive_subagent.system import logs
from hive_subagent.system.logs import FewTracebacks, Seldom


def record(name: str, line: int, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, line, "broke: %s", arguments, None)


def test_a_warning_is_logged_once_and_then_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(logs.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    seldom = Seldom(logging.getLogger("a"), period_s=60)
    for number in range(1000):
        seldom.warning("too many: %d", number)
        seldom.warning("another")
    now = 61.0
    seldom.warning("too many: %d", 7)
    assert [entry.getMessage() for entry in caplog.records] == [
        "too many: 0",
        "another",
        "too many: 7 (and 999 times since it was last logged)",
    ]


def test_of_each_place_in_a_library_ten_records_a_minute_get_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(logs.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    few = FewTracebacks()
    for line in (1, 2):
        passed = [few.filter(record("asyncio", line, number)) for number in range(100)]
        assert passed == [True] * 10 + [False] * 90
    assert all(few.filter(record("hive_subagent.sessions", 1)) for _ in range(100))
    now = 61.0
    later = record("asyncio", 1, "again")
    assert few.filter(later)
    assert later.getMessage() == "broke: again (90 more were not logged)"
