"""The small picture, and what the README and the home page say about speed: all of it is what was measured."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="the benchmarks' packages are not installed: pip install --group bench")

from benches.catalogue import QUESTIONS
from benches.contenders import NODE
from benches.harness.headline import FILES, Panel, draw_headline, read_conditions, read_panels
from benches.harness.measuring import Measurement
from benches.harness.pages import BEGIN, END, PAGE, publish
from benches.harness.question import Answer
from benches.harness.report import write_json

ROOT = Path(__file__).parents[2]
TEXTS = [ROOT / "README.md", ROOT / "docs" / "index.md"]
DRAWN = [name for name in FILES if name.endswith(".svg")]
MACHINE = {"cpu": "A CPU", "cores": 2, "system": "Linux", "python": "3.11", "server": "Redis 7.0, private"}


def texts_of(picture: Path) -> str:
    """Return the texts of a picture, in its order."""
    return " ".join(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text())).split())


def is_of(picture: Path, page: str) -> bool:
    """True if a picture has all names, figures and conditions of a page."""
    rows = [f"{name} {rate:,}" for panel in read_panels(page) for name, rate in panel.rates.items()]
    return all(row in texts_of(picture) for row in [*rows, read_conditions(page)])


@pytest.mark.parametrize("name", DRAWN)
def test_the_small_picture_has_the_figures_of_the_page_of_benchmarks(name: str) -> None:
    assert is_of(PAGE.parent / "images" / name, PAGE.read_text())


def test_the_picture_names_the_machine_the_versions_and_the_day() -> None:
    said = read_conditions(PAGE.read_text())
    for pattern in (
        r"\d cores",
        r"Redis \d",
        r"Python 3",
        r"BullMQ 5\.62\.0 \(Node\)",
        r"\d rounds",
        r"20\d\d-\d\d-\d\d$",
    ):
        assert re.search(pattern, said), pattern


def test_the_best_other_python_queues_are_in_the_picture() -> None:
    adding, processing = read_panels(PAGE.read_text())
    assert {"bullrush", NODE, "BullMQ for Python", "Celery", "RQ"} < adding.rates.keys() & processing.rates.keys()
    for panel in (adding, processing):
        assert len(panel.rates) == 7
        assert all(above >= below for above, below in pairwise(panel.rates.values()))


def results(folder: Path, rates: dict[str, float]) -> Path:
    """Write a file of results in which each contender of the two questions has a rate."""
    for name in ("bulk_add", "process"):
        rounds = {
            one.name: [Measurement(1_000, 1_000 / rates.get(one.name, 10), 5.0, 7.0, 0.1, {}, {"longest_call_ms": 1.0})]
            for one in QUESTIONS[name].contenders
        }
        run = {"date": "2026-01-02", "machine": MACHINE, "rounds": 1, "jobs": 1_000}
        write_json(folder / "results.json", run, [Answer(QUESTIONS[name], rounds)])
    return folder / "results.json"


def test_the_picture_is_drawn_from_a_file_of_results(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    rates = {"bullrush, add_bulk": 5_000, "bullrush, def": 3_000, NODE: 1_000, "Huey": 2_000, "SAQ": 1_500}
    publish(results(tmp_path, rates), page)
    adding, processing = read_panels(page.read_text())
    others = {"Huey": 2_000, "SAQ": 1_500, NODE: 1_000, "BullMQ for Python": 10, "RQ": 10, "Celery": 10}
    assert adding == Panel(adding.title, {"bullrush": 5_000, **others})
    assert processing == Panel(processing.title, {"bullrush": 3_000, **others})
    assert read_conditions(page.read_text()).endswith(
        "A CPU, 2 cores, Redis 7.0, Python 3.11 · medians of 1 rounds · 2026-01-02"
    )
    pytest.importorskip("matplotlib", reason="the benchmarks' packages are not installed: pip install --group bench")
    assert all(is_of(tmp_path / "images" / name, page.read_text()) for name in DRAWN)
    assert (tmp_path / "images" / "headline.png").stat().st_size > 10_000


def test_a_run_without_these_questions_leaves_the_picture_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE.read_text().replace("### Bulk add", "### Other"))
    assert draw_headline(page, tmp_path / "images") == []
    assert not (tmp_path / "images").exists()


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_the_speed_that_a_text_claims_was_measured(text: Path) -> None:
    words = " ".join(text.read_text().split())
    claims = re.findall(
        r"([\d.]+) times as fast as BullMQ for Node at adding in bulk and ([\d.]+) times at processing", words
    )
    assert len(claims) == 1
    for claim, panel in zip(map(float, claims[0]), read_panels(PAGE.read_text()), strict=True):
        measured = panel.rates["bullrush"] / panel.rates[NODE]
        assert claim <= measured < 1.25 * claim, panel.title


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_the_picture_is_shown(text: Path) -> None:
    assert re.search(r"images/headline\.(svg|png)", text.read_text())
