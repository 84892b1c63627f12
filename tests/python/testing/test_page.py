"""The program and its tests on the page about testing pass, as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/testing.md"


def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    files = re.findall(r'^```py title="(\S+)"\n(.*?)^```', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["shop.py", "test_shop.py"]
    for name, code in files:
        (tmp_path / name).write_text(code)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout + ran.stderr
