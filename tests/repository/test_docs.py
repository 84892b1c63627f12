"""Every example of the README and the docs runs as it is printed, and every link and every documented class exists.

A block that starts with ```python is a complete program; ```py marks a fragment, which is only shown. On the pages
about Spark the blocks of a page continue each other.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
from redis import Redis

from bullrush import Queue
from bullrush._core import QUEUE_KEYS
from docs.build import changelog, keys

# The backend for Django needs settings when it is imported.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")

ROOT = Path(__file__).parents[2]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*GUIDES, *REFERENCE]
NO_EXAMPLE = {
    "bull-layout",
    "configuration",
    "changelog",
    "faq",
    "node",
    "frameworks",
    "production",
    "reliability",
    "tutorial",
    "debugging",
    "doctor",
    "upgrading",
    "worker-command",
    "redis-cluster",
    "spark-cluster",
    "spark-sizing",
    "architecture",
    "benchmarks",
    "boards",
    "security",
    "interop",
    "job-lifecycle",
    "parity",
    "topologies",
}

EXAMPLES = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in GUIDES
    if not page.stem.startswith("spark")  # tests/python/spark/test_guide.py
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
    if "pyspark" not in code  # tests/python/spark/test_guide.py
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_as_printed(code: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(code)
    # Each example has a server of its own, so that all may use the names that read best.
    environment = {**os.environ, "BULLRUSH_URL": "embedded://"}
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment, timeout=100)
    assert ran.returncode == 0, f"{code}\n{ran.stdout}\n{ran.stderr}"


def test_every_page_about_a_capability_has_an_example() -> None:
    with_example = {page.stem for page in GUIDES if "```python\n" in page.read_text()}
    assert {page.stem for page in GUIDES} - with_example - NO_EXAMPLE == set()


def test_the_quick_start_says_what_was_done(tmp_path: Path) -> None:
    program = tmp_path / "quick_start.py"
    program.write_text(re.findall(r"^```python\n(.*?)^```", PAGES[0].read_text(), re.MULTILINE | re.DOTALL)[0])
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert re.search(r"RunStats\(.*completed=1\b", said)


def test_the_home_page_and_the_readme_begin_with_the_same_short_program() -> None:
    programs = [
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)[0]
        for page in (ROOT / "README.md", ROOT / "docs" / "index.md")
    ]
    assert programs[0].replace('print(worker.run(until="drained"))', 'worker.run(until="drained")') == programs[1]
    assert len([line for line in programs[1].splitlines() if line]) <= 10


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    broken = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
            name, _, heading = link.partition("#")
            target = page.parent / name if name else page
            if not target.is_file() or (heading and heading not in places(target)):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_the_links_of_the_changelog_lead_somewhere_on_the_site_too() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="changelog.md"))
    links = re.findall(r"\]\((?!https?:)([^)\s#]+)", changelog.on_page_markdown("", page=page))
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).is_file()] == []


def test_a_warning_ends_the_build_of_the_site() -> None:
    recipe = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (build,) = (line for line in recipe.splitlines() if "mkdocs build" in line)
    # With --quiet mkdocs does not count warnings.
    assert "--strict" in build and "-q" not in build


def places(target: Path) -> list[str]:
    """Return what a link may name behind the file: a heading, or the theme of the site in which a picture is shown."""
    return headings(target) if target.suffix == ".md" else ["only-light", "only-dark"]


def headings(page: Path) -> list[str]:
    """Return the anchors of a page: its headings in lower case, with hyphens for spaces."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]


def test_every_event_that_a_script_writes_is_described() -> None:
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs" / "events.md").read_text(), re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    scripts = "".join(script.read_text() for script in (ROOT / "lua").rglob("*.lua"))
    written = set(re.findall(r"'event', '([a-z-]+)'", scripts))
    assert len(written) > 10
    assert written - described == set()


def test_docs_and_package_name_the_same_systems() -> None:
    package = (ROOT / "pyproject.toml").read_text()
    systems = {"MacOS": "macOS", "POSIX :: Linux": "Linux", "Microsoft :: Windows": "Windows"}
    stated = {name for system, name in systems.items() if f"Operating System :: {system}" in package}
    assert stated == {"Linux", "macOS"}
    assert "bullrush runs on Linux and macOS" in (ROOT / "README.md").read_text()
    assert "Windows is not supported" in (ROOT / "docs" / "embedded.md").read_text()


def test_every_class_of_the_reference_exists() -> None:
    named = [name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
    assert named != []
    for name in named:
        resolve_name(name)


@pytest.mark.parametrize(
    "module",
    [
        "",
        "aio",
        "arrow",
        "django",
        "embedded",
        "events",
        "flow",
        "job",
        "queue",
        "recorder",
        "scheduler",
        "spark",
        "telemetry",
        "testing",
        "worker",
    ],
)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    package = resolve_name(f"bullrush.{module}".rstrip("."))
    named = {name for page in REFERENCE for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)}
    shown = [resolve_name(name) for name in named]
    shown += [getattr(module, name) for module in shown for name in getattr(module, "__all__", ())]

    def is_shown(name: str) -> bool:
        thing = getattr(package, name)
        return package in shown or thing in shown or getattr(thing, "__module__", None) in named

    public = {name for name in package.__all__ if not name.startswith("__") and name not in ("aio", "errors")}
    assert {name for name in public if not is_shown(name)} == set()


def test_every_command_of_the_page_about_debugging_reads_something(
    redis: Redis, redis_url: str, queue_name: str
) -> None:
    page = (ROOT / "docs" / "debugging.md").read_text()
    blocks = re.findall(r"^```redis\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = [*"".join(blocks).splitlines(), *re.findall(r"`([A-Z]+ [^`]+)`", page)]
    assert len(commands) > 20
    redis.slowlog_reset()  # those of other tests may have bytes that are no text
    with Queue(queue_name, url=redis_url) as queue:
        queue.add("n", job_id="j")
        written = "INFO", "LATENCY", "SLOWLOG", "CLIENT", "CONFIG"
        for command in commands:
            words = shlex.split(
                command.replace("bull:mails:7", queue.to_key("j")).replace("bull:mails:", queue.to_key(""))
            )
            assert words[0] in written or words[1].startswith(f"bull:{queue_name}:"), command
            redis.execute_command(*words)
        assert queue.get_waiting_count() == 1


def test_every_key_that_bullrush_adds_is_in_the_table() -> None:
    code = [
        path
        for folder in ("lua", "src", "python")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in {".lua", ".rs", ".py"} and path.name != "key_table.rs"
    ]
    written = {name for path in code for name in re.findall(r"\bext:[a-z]+-?", path.read_text())}
    fields = {"ext:compat"}  # of `meta`
    assert written - fields == {(key.family or key.name) for key in QUEUE_KEYS if key.owner == "bullrush"}


def test_the_table_of_keys_is_what_make_configuration_writes() -> None:
    assert keys.page(keys.PAGE.read_text()) == keys.PAGE.read_text(), "run make configuration"
