"""What the documentation points to is there, and its example works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import anyio
import pytest

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.sinks import NotAccepted, UnixSink

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("[ep]*/*.md"), *ROOT.glob("docs/**/*.md")])
FAILURES = ROOT / "docs" / "contributing" / "failures.md"


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    # a change that is shown has links of the page that it changes
    text = re.sub(r"^```diff$.+?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        place, _, anchor = unquote(target).partition("#")
        found = page.parent / place if place else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_every_failure_names_tests_that_cite_it() -> None:
    rows = re.findall(r"^\| (R\d+) \|.*\| ?([^|]*) ?\|$", FAILURES.read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == [f"R{number}" for number in range(1, 33)]
    for name, tests in rows:
        for test in re.findall(r"`([^`]+)`", tests):
            assert re.search(rf"\b{name}\b", (ROOT / test).read_text()), f"{test} for {name}"


async def test_the_example_consumer_takes_a_notice_once(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "notices.md").read_text()
    (example,) = re.findall(r"```python\n(.+?)```", page, re.DOTALL)
    socket = tmp_path / "todo.sock"
    assert "/run/user/1000/todo.sock" in example
    script = example.replace("/run/user/1000/todo.sock", str(socket))
    notice = Notice(
        id="run-1",
        name="lint",
        session_id="0b0c",
        kind="finished",
        text="Subagent `lint` finished.",
        report_file=None,
        at="2026-11-30T16:28:37.412Z",
    )
    with subprocess.Popen([sys.executable, "-u", "-c", script], stdout=subprocess.PIPE) as consumer:
        try:
            with anyio.fail_after(30):
                await _deliver(notice, socket)
            await UnixSink(socket).deliver(notice)
        finally:
            consumer.terminate()
        said, _ = consumer.communicate(timeout=30)
    assert said.decode().splitlines() == ["finished", "lint", "Subagent `lint` finished."]


async def _deliver(notice: Notice, socket: Path) -> None:
    """Deliver as the outbox does: again until the consumer is there."""
    while True:
        try:
            return await UnixSink(socket).deliver(notice)
        except NotAccepted:
            await anyio.sleep(0.02)
