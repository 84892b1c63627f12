"""docs/doctor.md has every check as the code has it."""

import re
from pathlib import Path

from bullrush.doctor import CODES

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


def test_the_page_has_the_checks_of_the_code() -> None:
    rows = re.findall(r"^\| (BR\d{3}) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    documented = {code: [cell.strip() for cell in cells.split(" | ")] for code, cells in rows}
    assert len(documented) == len(rows)
    known = {
        code: [about.title, about.severity, about.advice, *([about.repair] if code >= "BR1" else [])]
        for code, about in CODES.items()
    }
    assert documented == known
    assert not [code for code, about in CODES.items() if code < "BR1" and about.repair]


def test_each_check_has_a_test_that_plants_its_fault() -> None:
    planted = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
    assert [code for code in CODES if f'"{code}"' not in planted] == []
