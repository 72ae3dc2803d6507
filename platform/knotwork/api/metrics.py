"""Prometheus metrics of one application."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from knotwork.services.intake import RunCounts

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Requests by method, route and status; their seconds; runs by state."""

    def __init__(self, runs: Callable[[], RunCounts]) -> None:
        """`runs` is asked whenever the metrics are read."""
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "knotwork_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "knotwork_request_seconds",
            "Seconds until a request was answered in full.",
            ("method", "route"),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._registry.register(_Runs(runs))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _Runs(Collector):
    def __init__(self, runs: Callable[[], RunCounts]) -> None:
        self._runs = runs

    def collect(self) -> Iterable[Metric]:
        counts = self._runs()
        now = GaugeMetricFamily("knotwork_runs", "Runs that are not over, by state.", labels=("state",))
        now.add_metric(("queued",), counts.queued)
        now.add_metric(("running",), counts.running)
        yield now
        over = CounterMetricFamily("knotwork_runs_over", "Runs that ended, by state.", labels=("state",))
        over.add_metric(("done",), counts.done)
        over.add_metric(("failed",), counts.failed)
        over.add_metric(("cancelled",), counts.cancelled)
        yield over
        yield CounterMetricFamily(
            "knotwork_failed_chunks",
            "Chunks whose extraction failed.",
            value=counts.failed_chunks,
        )
