"""Whether memory, descriptors, threads and keys stayed as they were during a soak, and the plot of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

Samples = list[dict[str, Any]]

#: What is watched of each process, in the order of the samples; then the keys of Redis.
WHAT = ("memory (KB)", "descriptors", "threads", "keys")
#: How much each may grow: by this factor, and by so much more.
MOST = ((1.15, 2048), (1.3, 4), (1.3, 4), (1.5, 2000))
WARM_UP = 0.2  # of the time
TITLES = ("resident memory, MB", "descriptors", "threads", "keys in Redis")


def flatness(samples: Samples) -> Iterator[tuple[str, int, float, float, float]]:
    """Yield by process and thing, after the warm-up: the medians of the first and last fifth, and the most allowed."""
    after = samples[int(len(samples) * WARM_UP) :]
    fifth = max(1, len(after) // 5)
    for name in names(samples):
        for what in range(3):
            yield name, what, *_ends([one[name][what] for one in after if name in one], fifth, what)
    yield "Redis", 3, *_ends([one["keys"] for one in after], fifth, 3)


def names(samples: Samples) -> list[str]:
    """Return the names of the processes."""
    return sorted({name for sample in samples for name in sample if name.startswith("w")})


def _ends(values: list[float], fifth: int, what: int) -> tuple[float, float, float]:
    early, late = _median(values[:fifth]), _median(values[-fifth:])
    factor, more = MOST[what]
    return early, late, factor * early + more


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0


def kind(name: str) -> str:
    """Return what people know of a process: ``w0-sync`` is ``sync 0``."""
    number, _, kind = name.removeprefix("w").partition("-")
    return f"{kind} {number}"


def plot(samples: Samples, path: Path) -> None:
    """Draw memory, descriptors, threads and keys over time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Text stays text, and ids are the same each time.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "soak", "path.simplify_threshold": 0.5})
    figure, grid = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
    for what, axis in enumerate(grid.flat):
        if what < 3:
            for name in names(samples):
                scale = 1024 if what == 0 else 1
                points = [(one["minute"], round(one[name][what] / scale, 1)) for one in samples if name in one]
                axis.plot(*zip(*points, strict=True), label=kind(name), linewidth=1)
        else:
            axis.plot([one["minute"] for one in samples], [one["keys"] for one in samples], linewidth=1, color="black")
        axis.set_title(TITLES[what], fontsize="medium")
        axis.set_ylim(bottom=0)
    grid[0][0].legend(fontsize="x-small")
    for axis in grid[1]:
        axis.set_xlabel("minutes")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
