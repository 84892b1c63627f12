"""The programs of the pages about Spark run as printed.

The blocks of a page that start with
```python run one after another, in one process with the session of all Spark tests: starting Java takes seconds. The
first block of docs/spark.md is the beginning of each page.
"""

import os
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETUP = BLOCK.findall((DOCS / "spark.md").read_text())[0]


@pytest.mark.spark
def test_the_program_of_the_readme_runs(
    spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", os.environ["PYSPARK_PYTHON"])
    (program,) = [code for code in BLOCK.findall((DOCS.parent / "README.md").read_text()) if "pyspark" in code]
    exec(compile(program, "README.md", "exec"), ModuleType("__main__").__dict__)
    assert capsys.readouterr().out.count("completed") == 2


@pytest.mark.spark
@pytest.mark.parametrize("page", ["spark", *sorted(path.stem for path in DOCS.glob("spark-*.md"))])
def test_the_programs_of_a_page_run(page: str, spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page == "spark-source":
        pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no data sources of Python")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{page}.md").read_text()
    # As in a program that is started: functions of __main__ are sent to the executors by value.
    main = ModuleType("__main__")
    exec(SETUP, main.__dict__)
    for block in BLOCK.finditer(text):
        if block[1] != SETUP:
            line = text[: block.start()].count("\n") + 1
            exec(compile("\n" * line + block[1], f"docs/{page}.md", "exec"), main.__dict__)
