"""Every command in the docs is one that the programs take: options, files of services, packages, make targets."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

from bullrush.cli import COMMANDS
from bullrush.cli.registry import build_parser, load

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Other programs: the pages that the tests type into a terminal, or that say what to do elsewhere.
OTHERS = {
    "awk", "cd", "curl", "django-admin", "docker", "done", "env/bin/pip", "env/bin/venv-pack", "export", "for", "gh",
    "git", "jq", "kubectl",
    "maturin", "mkdir", "npm", "pytest", "python", "python3", "python3.11", "redis-cli", "sed", "spark-submit",
    "tail", "uvicorn", "while", "xargs",
    ".", "do",
}  # fmt: skip
#: What systemd knows, of the sections that a service has. A name that it does not know is ignored, with a warning only.
SYSTEMD = {
    "Unit": {"Description", "Wants", "After"},
    "Service": {
        "ExecStart", "EnvironmentFile", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec",
        "KillMode", "User",
        "WorkingDirectory",
    },
    "Install": {"WantedBy"},
}  # fmt: skip


def blocks(page: Path, *kinds: str) -> list[str]:
    """Return the blocks of a page that are written in these languages."""
    found = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [code for kind, code in found if kind in kinds]


def lines(page: Path) -> Iterator[str]:
    """Yield the lines that somebody types, as they are printed."""
    for code in blocks(page, "sh", ""):
        yield from code.replace("\\\n", " ").splitlines()
    for code in blocks(page, "console"):
        yield from (line[2:] for line in code.replace("\\\n", " ").splitlines() if line.startswith("$ "))


def commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each program of a line, without variables, comments and files."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words: list[str] = []
    for word in [*reader, "|"]:
        if set(word) <= set("|&;<>()"):
            if words:
                yield words
            # What follows is a file.
            words = ["#"] if ">" in word or "<" in word else []
        elif words or not re.match(r"\w+=", word):
            words.append(word)


TYPED = [
    pytest.param(words, id=f"{page.stem}: {' '.join(words)}"[:100])
    for page in PAGES
    for line in lines(page)
    if re.match(r"[.\w/]+( |$)", line) or "bullrush" in line
    for words in commands(line)
    if words[0] != "#"
]
INLINE = [
    pytest.param(shlex.split(text.replace("...", "module:object")), id=f"{page.stem}: {text}"[:100])
    for page in PAGES
    for text in re.findall(r"`(bullrush [a-z][^`\n]*)`", page.read_text())
]
HELP = [
    pytest.param(words, id=f"{name} --help: {' '.join(words)}"[:100])
    for name in COMMANDS
    for line in load(name).EXAMPLES.splitlines()
    for words in commands(re.sub(r" {3,}\S.*", "", line))
    if words[0] == "bullrush"
]


def check(words: list[str], capsys: pytest.CaptureFixture[str]) -> argparse.Namespace:
    """Parse the words after ``bullrush`` as the command does."""
    try:
        return build_parser(*COMMANDS).parse_args(words)
    except SystemExit as end:
        pytest.fail(f"bullrush {shlex.join(words)}: exit code {end.code}\n{capsys.readouterr().err}")


@pytest.mark.parametrize("words", [*TYPED, *HELP])
def test_a_command_is_one_that_its_program_takes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    program, *rest = words
    if program == "bullrush":
        check(rest, capsys)
    elif program == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in rest if "=" not in word} <= targets
    elif program == "pip" and rest[0] == "install":
        extras = set(re.findall(r"^(\w+) = \[", section("project.optional-dependencies"), re.MULTILINE))
        named = [re.search(r"\[([\w,]+)\]", word) for word in rest if word.startswith("bullrush")]
        assert {extra for found in named if found for extra in found[1].split(",")} <= extras
    else:
        assert program in OTHERS | {"pip"}, f"{program} is not known here: look at the command, then add its program"


@pytest.mark.parametrize("words", INLINE)
def test_a_command_in_a_sentence_exists(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence may leave out what the command is about, or its value."""
    assert words[1] in COMMANDS
    try:
        build_parser(*COMMANDS).parse_args(words[1:])
    except SystemExit:
        error = capsys.readouterr().err
        assert "the following arguments are required" in error or words[-1].isupper(), error


def section(name: str) -> str:
    return (ROOT / "pyproject.toml").read_text().partition(f"[{name}]")[2].partition("\n[")[0]


def test_the_home_page_has_every_extra() -> None:
    extras = re.findall(r"^(\w+) = \[", section("project.optional-dependencies"), re.MULTILINE)
    installation = (ROOT / "docs/index.md").read_text().partition("## Installation")[2]
    assert sorted(re.findall(r"^\| `(\w+)` \|", installation, re.MULTILINE)) == sorted(extras)


def test_the_systemd_unit_waits_longer_than_the_worker(capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = blocks(ROOT / "docs/production.md", "ini")
    unit = ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#", ";"))
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(text)
    assert {name: set(unit[name]) - SYSTEMD.get(name, set()) for name in unit.sections()} == {
        name: set() for name in SYSTEMD
    }
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.startswith(unit["Service"]["WorkingDirectory"] + "/"), (
        "the current directory is on the path of the worker"
    )
    assert unit["Service"]["User"] != "root"
    assert program.startswith("/") and program.endswith("/bullrush"), "systemd wants a whole path"
    options = check(words, capsys)
    assert float(unit["Service"]["TimeoutStopSec"]) > options.shutdown_timeout
    assert unit["Service"]["KillMode"] == "mixed", "only the first process gets SIGTERM, and tells the others"
    assert set(unit["Unit"]["After"].split()) <= set(unit["Unit"]["Wants"].split())


def test_the_container_gets_signals_and_its_manifest_gives_it_time(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs/production.md"
    (dockerfile,) = blocks(page, "dockerfile")
    lines = dockerfile.replace("\\\n", "").splitlines()
    steps = [line.split(None, 1) for line in lines if not line.startswith("#")]
    assert {step for step, _ in steps} <= {"FROM", "RUN", "COPY", "WORKDIR", "USER", "ENTRYPOINT"}
    program, *words = json.loads(dict(steps)["ENTRYPOINT"])
    assert program == "bullrush", "a list of words needs no shell"
    (manifest,) = blocks(page, "yaml")
    deployment = yaml.safe_load(manifest)
    assert (deployment["apiVersion"], deployment["kind"]) == ("apps/v1", "Deployment")
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    options = check([*words, *container["args"]], capsys)
    assert pod["spec"]["terminationGracePeriodSeconds"] > options.shutdown_timeout
    port = options.health_port[1]
    assert container["ports"] == [{"containerPort": port}]
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(port)
    given = {variable["name"]: variable["valueFrom"] for variable in container["env"]}
    assert {"name", "key"} == given.pop("BULLRUSH_URL")["secretKeyRef"].keys()
    # Kubernetes puts a variable of the container in, and only such a one.
    assert given == {"POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}}}
    assert options.name == "$(POD_NAME)"
    check_probes(container, port)


def test_the_doctor_runs_every_hour_and_once_each_time() -> None:
    (manifest,) = blocks(ROOT / "docs/doctor.md", "yaml")
    job = yaml.safe_load(manifest)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
    assert re.fullmatch(r"[0-5]?\d \* \* \* \*", job["spec"]["schedule"])
    once = job["spec"]["jobTemplate"]["spec"]
    # A second try would end with the same code.
    assert (once["backoffLimit"], once["template"]["spec"]["restartPolicy"]) == (0, "Never")
    (container,) = once["template"]["spec"]["containers"]
    program, *words = container["command"]
    options = build_parser(*COMMANDS).parse_args(words)
    assert (program, words[0], options.url, options.fix) == ("bullrush", "doctor", None, False)
    assert container["env"][0]["name"] == "BULLRUSH_URL"


def check_probes(container: dict[str, dict[str, object]], port: int) -> None:
    for name, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        probe = container[name]
        assert probe["httpGet"] == {"path": path, "port": port}
        assert probe.keys() <= {"httpGet", "timeoutSeconds", "periodSeconds", "failureThreshold"}
        assert probe["timeoutSeconds"] == 5, "an answer without Redis takes more than a second, the default"
