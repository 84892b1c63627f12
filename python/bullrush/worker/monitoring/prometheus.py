"""Metrics of the jobs that a worker runs, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, get_args

from bullrush._core import WORKER_LOOPS, CoreWorker
from bullrush.queue.health import Problem
from bullrush.queue.monitoring import escaped_label, prometheus_labels
from bullrush.worker.base import WorkerBase

#: Metric -> the counter of the core, and what it is.
_COUNTERS: Final = {
    "bullmq_worker_completed_total": ("completed", "Jobs that this worker completed"),
    "bullmq_worker_failed_total": ("failed", "Jobs that failed for good on this worker"),
    "bullmq_worker_retried_total": ("retried", "Attempts that failed on this worker and are retried"),
    "bullmq_worker_abandoned_total": ("abandoned", "Jobs that this worker left unfinished when it ended"),
    "bullmq_worker_reconnects_total": ("reconnects", "New connections of this worker after the first one"),
    "bullmq_lock_renewals_total": ("renewed", "Locks of running jobs that this worker renewed"),
    "bullmq_lock_renewals_failed_total": ("renewals_failed", "Renewals of locks that failed and are tried again"),
    "bullmq_stalled_checker_found_total": ("stalled", "Jobs that this worker put back: nobody renewed their locks"),
    "bullmq_stalled_checker_skipped_total": ("stalled_skipped", "Checks for stalled jobs that were left out"),
    "bullmq_route_scan_exhausted_total": (
        "scans_exhausted",
        "Scans that found only jobs for other workers, as deep as they may look",
    ),
    "bullmq_scheduler_repaired_total": ("schedulers_repaired", "Job schedulers that had lost their next job"),
}
#: How a worker learns that a lock is lost: from the program that took the job, when it renews the lock, when it could
#: not be renewed in time, or from the refused outcome.
_LOSSES: Final = ("message", "renewal", "expired", "finish")
_HISTOGRAMS: Final = {
    "bullmq_job_duration_seconds": ("duration", "Time that handlers took"),
    "bullmq_job_wait_seconds": ("wait", "Time from when a job was due to its first start"),
}


def worker_page(
    worker: WorkerBase[Any], labels: Mapping[str, object] | None, problems: Collection[Problem] | None
) -> str:
    """Return the metrics of a worker.

    Args:
        worker: the worker.
        labels: further labels for every line.
        problems: its problems; None leaves them out.
    """
    queue, further = prometheus_labels(worker._shown_queues, labels)
    given = queue + further
    run = worker._run
    stats = run.core.stats() if run else {}
    lines: list[str] = []
    for name, (key, text) in _COUNTERS.items():
        lines += [*_titles(name, text, "counter"), f"{name}{{{given}}} {stats.get(key, 0)}"]
    lost = "bullmq_ownership_lost_total"
    lines += _titles(lost, "Jobs that this worker lost while it ran them, by how it noticed", "counter")
    lines += [f'{lost}{{{given}, reason="{how}"}} {stats.get(f"lost_by_{how}", 0)}' for how in _LOSSES]
    revived = "bullmq_worker_revived_total"
    lines += _titles(revived, "New connections of this worker since a step did not end in its time", "counter")
    lines += [f'{revived}{{{given}, reason="{loop}"}} {stats.get(f"revived_by_{loop}", 0)}' for loop in WORKER_LOOPS]
    gauges = {
        "bullmq_worker_jobs_in_hand": (stats.get("in_hand", 0), "Jobs that this worker holds"),
        "bullmq_worker_concurrency": (worker._concurrency, "Jobs, or batches, that run at the same time"),
    }
    for name, (value, text) in gauges.items():
        lines += [*_titles(name, text, "gauge"), f"{name}{{{given}}} {value}"]
    lag = "bullmq_worker_loop_lag_seconds"
    lines += _titles(lag, "How late the event loop of this worker was at most within the last minute", "gauge")
    if run and run.loop_watch and (longest := run.loop_watch.longest_lag) is not None:
        lines.append(f"{lag}{{{given}}} {longest:g}")
    if problems is not None:
        name = "bullmq_worker_problem"
        lines += _titles(name, "Problems of this worker, as its health tells them", "gauge")
        lines += [f'{name}{{{given}, problem="{kind}"}} {int(kind in problems)}' for kind in get_args(Problem)]
    unmatched = "bullmq_route_unmatched"
    lines += _titles(unmatched, "Jobs in routes without a worker, reported by one of the workers", "gauge")
    routes = run.core.unmatched_routes() if run else {}
    lines += [f'{unmatched}{{{given}, route="{escaped_label(name)}"}} {count}' for name, count in routes.items()]
    limits = CoreWorker.histogram_limits()
    histograms = run.core.histograms() if run else {}
    for name, (key, text) in _HISTOGRAMS.items():
        counts, total = histograms.get(key, ([0] * (len(limits) + 1), 0.0))
        lines += [*_titles(name, text, "histogram"), *_histogram(name, given, limits, counts, total)]
    script = "bullmq_script_duration_seconds"
    lines += _titles(script, "Time from the wish to call a script to its reply", "histogram")
    limits = CoreWorker.script_histogram_limits()
    for name, (counts, total) in (run.core.script_histograms() if run else {}).items():
        lines += _histogram(script, f'{given}, script="{name}"', limits, counts, total)
    return "\n".join(lines)


def _histogram(name: str, labels: str, limits: list[float], counts: list[int], total: float) -> Iterator[str]:
    for limit, count in zip([*(f"{limit:g}" for limit in limits), "+Inf"], accumulate(counts), strict=True):
        yield f'{name}_bucket{{{labels}, le="{limit}"}} {count}'
    yield f"{name}_sum{{{labels}}} {total:g}"
    yield f"{name}_count{{{labels}}} {sum(counts)}"


def _titles(name: str, text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def merged_metrics(pages: Iterable[str]) -> str:
    """Return one page of several: each metric once, and samples with the same labels added up."""
    titles: dict[str, dict[str, None]] = {}
    samples: dict[str, dict[str, float]] = {}
    for name, line in _by_metric(pages):
        if line.startswith("#"):
            titles.setdefault(name, {})[line] = None
        else:
            sample, _, value = line.rpartition(" ")
            found = samples.setdefault(name, {})
            found[sample] = found.get(sample, 0) + float(value)
    lines = []
    for name, own in titles.items():
        lines += [*own, *(f"{sample} {value:.15g}" for sample, value in samples.get(name, {}).items())]
    return "\n".join(lines) + "\n"


def without_gauges(page: str) -> str:
    """Return a page without its gauges, which are not to be added up over time."""
    lines = [*_by_metric([page])]
    gauges = {name for name, line in lines if line.startswith("# TYPE") and line.endswith(" gauge")}
    return "\n".join(line for name, line in lines if name not in gauges)


def _by_metric(pages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with the name of its metric: that of the titles before it."""
    for page in pages:
        name = ""
        # Not splitlines(): the name of a queue may have U+2028, U+2029 or U+0085, which end no line for Prometheus.
        for line in page.split("\n"):
            if line.startswith("#"):
                name = line.split(" ", 3)[2]
            if line:
                yield name, line
