"""`/metrics`: figures of all runs for Prometheus. No label holds a name, a path or a model's words.

The figures are kept in plain numbers. The client library, whose import takes 20 ms and which most
daemons are never asked for, is imported when they are read for the first time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hive_subagent import __version__
from hive_subagent.models.events import NoticeChanged
from hive_subagent.models.notices import RunEvent
from hive_subagent.models.session import State
from hive_subagent.outbox.event_feed import EventFeed
from hive_subagent.outbox.event_journal import Event, EventJournal
from hive_subagent.outbox.outbox import Outbox
from hive_subagent.sessions.registry import Registry

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

PATH = "/metrics"

BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 4 * 3600.0, 24 * 3600.0)
"""Seconds: the upper bounds of the histogram of durations."""

LIVE = (State.QUEUED, State.STARTING, State.RUNNING)
"""The states of runs that are not over."""


@dataclass
class Durations:
    """How many runs took how long: one count for each of `BUCKETS`, and one for those beyond."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total_s: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total_s += seconds

    @property
    def cumulative(self) -> list[tuple[str, float]]:
        """As Prometheus has it: how many took at most so long."""
        bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


@dataclass
class Figures:
    """Counts what the events of runs say, since the daemon began."""

    started: int = 0
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    durations: Mapping[str, Durations] = field(default_factory=lambda: defaultdict(Durations))
    cost_usd: float = 0.0
    delivered: int = 0

    def take(self, event: Event) -> None:
        """Count an event."""
        if isinstance(event, NoticeChanged):
            self.delivered += event.event == "notice_delivered"
        elif isinstance(event, RunEvent) and event.event == "subagent_started":
            self.started += 1
        elif isinstance(event, RunEvent):
            reason = event.stop_reason or "unknown"
            self.ended[reason, event.cause or ""] += 1
            self.cost_usd += event.cost_usd or 0.0
            if event.duration_s is not None:
                self.durations[reason].add(event.duration_s)


@dataclass(frozen=True, eq=False)
class Metrics:
    """Reads the figures where they are kept; a collector of Prometheus."""

    figures: Figures
    registry: Registry
    outbox: Outbox
    events: EventFeed
    journal: EventJournal
    max_running: int

    async def serve(self, request: Request) -> Response:
        """In Prometheus' text format."""
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        return PlainTextResponse(
            generate_latest(self._collectors),
            headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"},
        )

    @cached_property
    def _collectors(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector

        made = CollectorRegistry()
        ProcessCollector(registry=made)
        made.register(self)
        return made

    def collect(self) -> Iterator[Metric]:
        """All of them, as they stand now."""
        yield from self._runs()
        yield from self._live()
        yield from self._deliveries()

    def _runs(self) -> Iterator[Metric]:
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        build = GaugeMetricFamily("hive_subagent_build_info", "The version", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        figures = self.figures
        yield CounterMetricFamily(
            "hive_subagent_runs_started", "Runs whose own work began", value=figures.started
        )
        ended = CounterMetricFamily(
            "hive_subagent_runs_ended", "Runs by their ending", labels=["stop_reason", "cause"]
        )
        for (reason, cause), count in sorted(figures.ended.items()):
            ended.add_metric([reason, cause], count)
        yield ended
        durations = HistogramMetricFamily(
            "hive_subagent_run_duration_seconds",
            "From the beginning of a run's work to its end",
            labels=["stop_reason"],
        )
        for reason, found in sorted(figures.durations.items()):
            durations.add_metric([reason], found.cumulative, sum_value=found.total_s)
        yield durations
        yield CounterMetricFamily(
            "hive_subagent_cost_usd", "What ended runs cost, where known", value=figures.cost_usd
        )
        yield GaugeMetricFamily(
            "hive_subagent_max_running", "The setting max_running", value=self.max_running
        )

    def _live(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        runs = GaugeMetricFamily(
            "hive_subagent_runs", "Runs that are not over, by state", labels=["state"]
        )
        cpu = GaugeMetricFamily(
            "hive_subagent_runs_cpu_seconds",
            "CPU time that runs which are not over have used, by state",
            labels=["state"],
        )
        memory = GaugeMetricFamily(
            "hive_subagent_runs_peak_memory_bytes",
            "Peak memory of runs which are not over, added up, by state",
            labels=["state"],
        )
        views = [session.view() for session in [*self.registry.live, *self.registry.queued]]
        for state in LIVE:
            mine = [view for view in views if view.state is state]
            runs.add_metric([state], len(mine))
            cpu.add_metric([state], sum(view.cpu_s or 0.0 for view in mine))
            memory.add_metric([state], sum(view.peak_memory_bytes or 0 for view in mine))
        yield from (runs, cpu, memory)

    def _deliveries(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield GaugeMetricFamily(
            "hive_subagent_notices_owed",
            "Notices that some sink has yet to take",
            value=self.outbox.pending,
        )
        yield GaugeMetricFamily(
            "hive_subagent_notices_oldest_owed_age_seconds",
            "Age of the oldest of them; 0 where none is owed",
            value=_age_s(self.outbox.recent.oldest_at),
        )
        yield CounterMetricFamily(
            "hive_subagent_notices_delivered",
            "Deliveries of a notice to a sink",
            value=self.figures.delivered,
        )
        yield CounterMetricFamily(
            "hive_subagent_events", "Events of the journal", value=self.journal.last
        )
        dropped = CounterMetricFamily(
            "hive_subagent_events_dropped",
            "Events that a reader did not get: a sink, or a reader of the journal",
            labels=["reader"],
        )
        dropped.add_metric(["sink"], self.events.dropped)
        dropped.add_metric(["journal"], self.journal.missed)
        yield dropped
        yield CounterMetricFamily(
            "hive_subagent_stream_bytes",
            "Bytes that claude printed in all runs",
            value=self.events.stream_bytes,
        )


def _age_s(at: str | None) -> float:
    try:
        made = datetime.fromisoformat(at) if at is not None else None
    except ValueError:
        made = None
    return max(0.0, (datetime.now(UTC) - made).total_seconds()) if made is not None else 0.0
