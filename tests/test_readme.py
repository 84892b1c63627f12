"""The quick start of README.md does what it says."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_quick_start_runs(tmp_path: Path) -> None:
    quick_start = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)[0]
    program = tmp_path / "quick_start.py"
    program.write_text(quick_start)
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert re.search(r"RunStats\(.*completed=1\b", said)
