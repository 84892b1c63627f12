"""How long does somebody on call need to find a cause: ``python -m tests.boards.on_call``.

Plants incidents, one place after another, opens the dashboard, and asks as users would. The time of an answer counts
from its question. ``--record`` adds the answers to ``on_call.json``, and ``--docs`` writes docs/dashboard.md from it.
Whether an answer is right is for somebody else to say: the causes are those of ``test_dashboard_walks.py``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import webbrowser
from pathlib import Path
from typing import Any, Final

from benches.harness.peer import ROOT
from benches.harness.report import piped

from .incidents import dashboard
from .test_dashboard_walks import PLACES

_RAW: Final = Path(__file__).with_suffix(".json")
_PAGE: Final = ROOT / "docs" / "dashboard.md"
_BEGIN, _END = "<!-- measured: on_call -->", "<!-- /measured -->"
#: What users say, by what goes wrong.
QUESTIONS: Final = {
    "no worker": "Videos (queue video) are not processed. Why?",
    "forgotten pause": "The reports (queue reports) do not come any more. Why?",
    "failures of three errors": "Many mails (queue mail) fail. How many, and of how many causes?",
    "poison job": "An invoice (queue invoices) never got done. What happened to its job?",
    "broken scheduler": "The nightly billing (queue billing) does not run any more. Why?",
    "rate limit": "Text messages (queue sms) are slow. Why?",
    "one slow name": "The queue search got slow. Which jobs are to blame?",
    "slots held by hung jobs": "Uploads (queue uploads) have stopped. Why?",
    "hung worker": "Scans (queue scans) have stopped. Why?",
    "deaf worker": "Letters (queue letters) are not sent. Why?",
    "parent of a failed child": "An order (queue orders) never finishes. Why?",
    "full Redis": "Nothing can be added any more. Why?",
    "target without worker": "Renderings that need a GPU (queue render) do not start. Why?",
}


def ask() -> list[dict[str, Any]]:
    """Plant the incidents of each place and ask for their causes; return the answers."""
    answers = []
    for place, (plant, walks) in PLACES.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            plant() as url,
            dashboard(url, "--history", f"{folder}/history.db") as link,
        ):
            print(f"\nThe dashboard: {link}")
            webbrowser.open(link)
            input("Enter when you see it. ")
            for walk in walks:
                begun = time.monotonic()
                answer = input(f"{QUESTIONS[walk]}\n> ")
                seconds = round(time.monotonic() - begun, 1)
                answers.append({"place": place, "case": walk, "seconds": seconds, "answer": answer})
    return answers


def write_docs() -> None:
    """Write the times into the page."""
    answers = json.loads(_RAW.read_text())
    rows = []
    for walk in QUESTIONS:
        times = sorted(one["seconds"] for one in answers["answers"] if one["case"] == walk)
        if times:
            rows.append([walk, str(len(times)), f"{statistics.median(times):.0f} s", f"{times[-1]:.0f} s"])
    table = "\n".join(piped([["incident", "times asked", "median", "slowest"], *rows]))
    before, _, rest = _PAGE.read_text().partition(_BEGIN)
    behind = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table}\n\n{answers['how']}\n{_END}{behind}")


def main() -> None:
    """Ask, and record what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="add the answers to on_call.json")
    parser.add_argument("--docs", action="store_true", help="only write docs/dashboard.md from on_call.json")
    options = parser.parse_args()
    if not options.docs:
        answers = ask()
        print(json.dumps(answers, indent=1))
        if options.record:
            known = json.loads(_RAW.read_text())
            known["answers"] += answers
            _RAW.write_text(json.dumps(known, indent=1) + "\n")
    if options.docs:
        write_docs()


if __name__ == "__main__":
    main()
