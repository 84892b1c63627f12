"""How long the scripts of a worker took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bullrush._core import CoreWorker


class ScriptTimes(NamedTuple):
    """How often a script was called, and how long that took, from the wish to call it to its reply.

    Attributes:
        calls: how many replies there were.
        p50: ms in which half of the calls were done.
        p99: ms in which 99 of 100 were done.
    """

    calls: int
    p50: float
    p99: float


def script_times(core: CoreWorker) -> Mapping[str, ScriptTimes]:
    """Return the times of all scripts of a run, by their names."""
    limits = [seconds * 1000 for seconds in core.script_histogram_limits()]
    return {
        name: ScriptTimes(sum(counts), _quantile(limits, counts, 0.5), _quantile(limits, counts, 0.99))
        for name, (counts, _) in core.script_histograms().items()
    }


def _quantile(limits: Sequence[float], counts: Sequence[int], share: float) -> float:
    """Return a quantile, as Prometheus does: values are taken as spread evenly over their range."""
    wanted = share * sum(counts)
    last, before = 0.0, 0
    for limit, reached in zip(limits, accumulate(counts), strict=False):
        if reached >= wanted > before:
            return last + (limit - last) * (wanted - before) / (reached - before)
        last, before = limit, reached
    return last
