"""The doctor: looks for what is wrong with a server and its queues, and says what to do.

``bullrush doctor`` is the command.
"""

from bullrush.doctor.codes import CODES, Code, Severity
from bullrush.doctor.costs import Cost, Costs
from bullrush.doctor.examination import Doctor
from bullrush.doctor.finding import Finding, FindingJson, Report, counted

__all__ = ["CODES", "Code", "Cost", "Costs", "Doctor", "Finding", "FindingJson", "Report", "Severity", "counted"]
