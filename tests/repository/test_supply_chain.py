"""What the workflows run is fixed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_hash_and_says_its_version(workflow: Path) -> None:
    used = re.findall(r"^ *-? *uses: (.*)$", workflow.read_text(), re.MULTILINE)
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


def test_one_action_has_one_version() -> None:
    used = {
        tuple(action.split("@"))
        for path in WORKFLOWS
        for action in re.findall(r"uses: (.*)$", path.read_text(), re.MULTILINE)
    }
    assert len({name for name, _ in used}) == len(used)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_says_more(workflow: Path) -> None:
    assert re.search(r"^permissions: \{ contents: read \}$", workflow.read_text(), re.MULTILINE)
