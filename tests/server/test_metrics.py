"""`/metrics`: figures of all runs, and no word of any of them (issue 13, 5)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from support import api, processes, rpc
from support.daemon import Daemon
from support.stub import HANG, script, text

from hive_subagent.models.notices import RunEvent
from hive_subagent.models.session import Cause, State, StopReason
from hive_subagent.server.metrics import Durations, Figures

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
TOKEN = "correct-horse-battery-staple"
Figure = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(daemon: Daemon) -> str:
    reply = api.client(daemon.runtime_dir).request("GET", "/metrics", prefix="")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain; version=")
    return reply.body.decode()


def figures(daemon: Daemon) -> Figure:
    """Every sample by its name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(scrape(daemon))
        for sample in family.samples
    }


def of(found: Figure, name: str, **labels: str) -> float | None:
    return found.get((f"hive_subagent_{name}", tuple(sorted(labels.items()))))


async def test_runs_by_ending_their_cost_and_what_runs_now(world: Daemon) -> None:
    """Issue 13, 5."""
    world.start()
    assert of(figures(world), "runs", state="running") == 0
    await world.run(script(text("done")), "a-secret-name")
    await world.run(script({"exit": 3}), "another-name")
    running = await world.begin(script(HANG), "third-name")
    await world.notice("another-name")
    found = figures(world)
    assert of(found, "runs_started_total") == 3
    assert of(found, "runs_ended_total", stop_reason="turn_ended", cause="") == 1
    assert of(found, "runs_ended_total", stop_reason="failed", cause="other") == 1
    assert of(found, "run_duration_seconds_count", stop_reason="turn_ended") == 1
    assert (of(found, "cost_usd_total") or 0) > 0
    assert [of(found, "runs", state=state) for state in ("queued", "starting", "running")] == [
        0,
        0,
        1,
    ]
    assert (of(found, "runs_cpu_seconds", state="running") or 0) > 0
    assert of(found, "max_running") == 64
    assert of(found, "notices_owed") == 0
    assert of(found, "notices_delivered_total") == 2
    assert (of(found, "stream_bytes_total") or 0) > 500
    assert of(found, "events_dropped_total", reader="journal") == 0
    assert found["process_open_fds", ()] > 0
    await world.must("interrupt", name=running)
    await world.notice(running)
    found = figures(world)
    assert of(found, "runs_ended_total", stop_reason="killed", cause="interrupt") == 1


async def test_no_label_holds_a_name_a_path_or_a_word(world: Daemon) -> None:
    """Issue 13, 5: a label's values are few and known beforehand."""
    world.settings["todo_sinks"] = [f"unix:{world.root / 'sink.sock'}"]
    world.start()
    await world.run(script(text("a-word-of-the-model")), "a-secret-name")
    await processes.until(lambda: of(figures(world), "notices_owed") == 1, "the notice")
    said = scrape(world)
    for secret in ("a-secret-name", "a-word-of-the-model", str(world.root), "sink.sock"):
        assert secret not in said
    known = {*State, *StopReason, *Cause, "", "other", "sink", "journal", "unknown"}
    found = figures(world)
    for name, labels in found:
        values = {value for label, value in labels if label not in ("le", "version")}
        assert values <= known or not name.startswith("hive_subagent"), (name, labels)
    assert (of(found, "notices_oldest_owed_age_seconds") or 0) > 0


@pytest.fixture
def guarded(world: Daemon) -> Daemon:
    (world.root / "token").write_text(f"{TOKEN}\n")
    world.settings["auth_token_file"] = str(world.root / "token")
    world.start()
    return world


def test_at_the_port_it_wants_the_owners_token(guarded: Daemon) -> None:
    """Issue 13, 5."""
    url = f"{guarded.url}/metrics"
    assert rpc.request(url).status == 401
    headers = {"Authorization": f"Bearer {TOKEN}"}
    reply = rpc.request(url, headers=headers)
    assert (reply.status, b"hive_subagent_runs" in reply.body) == (200, True)
    assert rpc.request(url, "POST", b"", headers).status == 405


def test_the_client_library_is_not_imported_at_the_start() -> None:
    """Issue 13, 5: it takes 20 ms, and most daemons are never asked."""
    code = "import sys, hive_subagent.daemon; print('prometheus_client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_every_metric_stands_on_the_page_and_no_other(daemon: Daemon) -> None:
    """Issue 13, 5."""
    await daemon.run(script(text("done")))
    families = text_string_to_metric_families(scrape(daemon))
    there = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in families
        if family.name.startswith("hive_subagent")
    }
    described = set(re.findall(r"^\| `(hive_subagent_\w+)", PAGE.read_text(), re.MULTILINE))
    assert described == there


@given(st.lists(st.floats(0, 1e6)))
def test_the_histogram_counts_each_duration_once(durations: list[float]) -> None:
    """Issue 13, 5."""
    found = Durations()
    for seconds in durations:
        found.add(seconds)
    cumulative = dict(found.cumulative)
    assert cumulative["+Inf"] == len(durations)
    for bound, count in found.cumulative:
        assert count == sum(seconds <= float(bound) for seconds in durations)


def test_an_ending_without_figures_is_counted_all_the_same() -> None:
    """Issue 13, 5: a run that nobody saw to its end has no duration and no cost."""
    found = Figures()
    at = "2026-01-01T00:00:00.000Z"
    found.take(
        RunEvent(event="subagent_finished", id="1", name="a", session_id="s", dir="/", at=at)
    )
    assert (dict(found.ended), found.cost_usd) == ({("unknown", ""): 1}, 0.0)
