"""What a package index shows: the metadata that maturin writes, its README and its addresses."""

import re
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from readme_renderer import markdown
from trove_classifiers import classifiers

from bullrush import __version__
from docs.build.readme import for_index, targets

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?:\]\(|src=\"|href=\")([^)\"\s]+)")


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """Return the metadata of the wheel; nothing is compiled for it."""
    folder = tmp_path_factory.mktemp("metadata")
    maturin = Path(sys.executable).with_name("maturin")
    command = [maturin, "pep517", "write-dist-info", "--metadata-directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (written,) = folder.glob("bullrush-*.dist-info/METADATA")
    return Parser().parsestr(written.read_text())


@pytest.fixture(scope="module")
def readme(metadata: Message) -> str:
    """Return the README as the package index shows it."""
    return for_index(str(metadata.get_payload()), addresses(metadata))


def addresses(metadata: Message) -> dict[str, str]:
    """Return the addresses of the project by their labels."""
    return dict(line.split(", ") for line in metadata.get_all("Project-URL", []))


def test_the_metadata_are_complete(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("bullrush", __version__)
    assert metadata["License-Expression"] == "MIT" and metadata["Author"] and metadata["Summary"]
    assert addresses(metadata).keys() == {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}


def test_the_classifiers_are_those_of_the_index_and_name_the_tested_pythons(metadata: Message) -> None:
    said = set(metadata.get_all("Classifier", []))
    assert said - classifiers == set()
    assert metadata["Requires-Python"] == ">=3.10"
    pythons = {text.rpartition(" ")[2] for text in said if re.search(r"Python :: 3\.\d+$", text)}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert pythons == set(re.findall(r"\b3\.1\d\b", workflow))


def test_a_free_threaded_python_is_named_and_gets_its_gil_back(metadata: Message) -> None:
    said = [text for text in metadata.get_all("Classifier", []) if "Free Threading" in text]
    assert said == ["Programming Language :: Python :: Free Threading :: 1 - Unstable"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert set(re.findall(r"3\.\d+t", workflow)) == {"3.14t", "3.15t"}
    assert "#[pymodule(gil_used = true)]" in (ROOT / "src" / "bindings" / "lib.rs").read_text()


def test_the_index_renders_the_readme(readme: str) -> None:
    html = markdown.render(readme)
    assert html is not None
    assert html.count("<pre") == 5 and "<table>" in html and "headline.png" in html


def test_the_readme_leads_to_files_of_the_checkout() -> None:
    found = targets((ROOT / "README.md").read_text())
    assert len(found) > 20
    assert [target for target in found if not (ROOT / target).is_file()] == []


def test_the_readme_has_no_relative_link_on_the_index(readme: str) -> None:
    links = LINK.findall(readme)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_links_of_the_readme_lead_to_pages_of_the_site(readme: str, metadata: Message) -> None:
    site, repository = addresses(metadata)["Documentation"], addresses(metadata)["Repository"]
    ours = [link for link in LINK.findall(readme) if link.startswith((site, repository))]
    assert len(ours) > 20
    for link in ours:
        if link.startswith(f"{repository}/blob/main/"):
            assert (ROOT / link.removeprefix(f"{repository}/blob/main/")).is_file(), link
            continue
        path = link.removeprefix(repository).removeprefix(site).strip("/")
        files = {ROOT / "docs" / path, ROOT / "docs" / f"{path}.md", ROOT / "docs" / path / "index.md"}
        assert any(file.is_file() for file in files), link


def test_all_files_name_the_same_addresses(metadata: Message) -> None:
    known = tuple(addresses(metadata).values())
    site, repository = addresses(metadata)["Documentation"], addresses(metadata)["Repository"]
    mkdocs, cargo = (ROOT / "mkdocs.yml").read_text(), (ROOT / "Cargo.toml").read_text()
    assert f"site_url: {site}/\n" in mkdocs and f"repo_url: {repository}\n" in mkdocs
    assert f'documentation = "{site}"\n' in cargo and f'repository = "{repository}"\n' in cargo
    for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(r"https://(?:git\.)?bullrush\.example[^\s)`'\"]*", file.read_text())
        assert [link for link in named if not link.startswith(known)] == [], file
