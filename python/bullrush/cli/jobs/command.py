"""``bullrush jobs``: its verbs."""

from __future__ import annotations

import argparse
from typing import Final

from bullrush.cli.jobs import change, listing, show, update

EXAMPLES = """\
  bullrush jobs list mail --state failed
  bullrush jobs list mail --name 'welcome*' --data ada@example.org
  bullrush jobs show mail 17
  bullrush jobs update mail 17 '{"user": 7}' --retry
  bullrush jobs retry mail 17 18
  bullrush jobs retry mail --all --name welcome"""

#: The verbs: which module runs them, and what they do.
VERBS: Final = {
    "list": (listing, "list or search jobs"),
    "show": (show, "show all of one job: data, result, log, stack trace, family"),
    "update": (update, "replace the data of a job"),
    "retry": (change, "run failed or completed jobs again"),
    "promote": (change, "run delayed jobs now"),
    "remove": (change, "remove jobs"),
    "cancel": (change, "ask running jobs to stop; then they fail. Workers of bullrush see it"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, (module, summary) in VERBS.items():
        below = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module is change:
            change.configure(below, verb)
        else:
            module.configure(below)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    code: int = VERBS[options.verb][0].run(options)
    return code
