"""What the doctor says: findings, and what it could not look at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, TypedDict

from bullrush.doctor.codes import CODES, Code, Severity

#: So many ids are shown.
SHOWN: Final = 5


class FindingJson(TypedDict):
    """A finding, for programs.

    Attributes:
        code: the number of the check, such as ``BR003``.
        severity: fault or warning.
        queue: the name of the queue; None if it is about the server or the machine.
        title: what is wrong, the same for all findings of the check.
        detail: what was seen.
        advice: what to do.
        ids: some of the jobs, schedulers, directories or rights concerned.
        count: how many there are.
        fixable: whether ``--fix`` can repair it.
        fixed: whether ``--fix`` has repaired it.
    """

    code: str
    severity: str
    queue: str | None
    title: str
    detail: str
    advice: str
    ids: list[str]
    count: int
    fixable: bool
    fixed: bool


def counted(count: int, what: str) -> str:
    """Return a number in words: ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes:
        code: the number of the check.
        detail: what was seen. It has no data of jobs and no secrets.
        queue: the name of the queue; None if it is about the server or the machine.
        ids: the jobs, schedulers, directories or rights concerned.
        fleeting: it may pass by itself, so it counts only if a second look shows it, too.
        mends_itself: workers will mend it soon, so it is a warning whatever the check says.
        instead: what to do here, if the check's advice does not fit.
        left_alone: ``--fix`` does nothing about this one.
    """

    code: str
    detail: str
    queue: str | None = None
    ids: tuple[str, ...] = ()
    fleeting: bool = False
    mends_itself: bool = False
    instead: str = ""
    left_alone: bool = False

    @property
    def about(self) -> Code:
        """What is known about all findings of this check."""
        return CODES[self.code]

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return "warning" if self.mends_itself else self.about.severity

    @property
    def advice(self) -> str:
        """What to do."""
        return self.instead or self.about.advice

    @property
    def fixable(self) -> bool:
        """Whether ``--fix`` can repair it."""
        return bool(self.about.repair) and not self.left_alone

    def is_about_the_same(self, other: Finding) -> bool:
        """Tell whether another finding is of the same check about the same queue, and is as fixable."""
        return (self.code, self.queue, self.left_alone) == (other.code, other.queue, other.left_alone)

    def seen_again(self, later: list[Finding]) -> Finding | None:
        """Return what is left of the finding at a later look; None if it has passed."""
        for other in later:
            if self.is_about_the_same(other):
                common = tuple(id for id in self.ids if id in frozenset(other.ids))
                if common or not self.ids:
                    return replace(other, ids=common)
        return None

    def to_json(self, *, fixed: bool = False) -> FindingJson:
        """Return the finding for programs.

        Args:
            fixed: it has been repaired.
        """
        return {
            "code": self.code,
            "severity": self.severity,
            "queue": self.queue,
            "title": self.about.title,
            "detail": self.detail,
            "advice": self.advice,
            "ids": list(self.ids[:SHOWN]),
            "count": max(1, len(self.ids)),
            "fixable": self.fixable,
            "fixed": fixed,
        }


class NotCheckedError(Exception):
    """A check could not be made; the text says why."""


@dataclass
class Report:
    """The result of an examination.

    Attributes:
        queues: the names of the queues that were examined.
        findings: what is wrong.
        skipped: what could not be checked: texts that say what and why.
    """

    queues: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def has(self, finding: Finding) -> bool:
        """Tell whether there is a finding of the same check about the same queue."""
        return any(one.is_about_the_same(finding) for one in self.findings)

    def leave_consequences_out(self) -> None:
        """Leave out what another finding explains, and whose advice would be wrong then."""
        of_bull = {one.queue for one in self.findings if one.code in ("BR101", "BR117")}
        moved = {one.queue for one in self.findings if one.code == "BR117"}
        # Without reading all jobs one id without a job may show; with it, all of them do.
        most: dict[str | None, Finding] = {}
        for one in self.findings:
            if one.code == "BR203" and (one.queue not in most or len(one.ids) >= len(most[one.queue].ids)):
                most[one.queue] = one
        self.findings = [
            one
            for one in self.findings
            if not (one.code in ("BR105", "BR107") and one.queue in of_bull)
            and not (one.code == "BR101" and one.queue in moved)
            and not (one.code == "BR203" and one is not most[one.queue])
        ]
