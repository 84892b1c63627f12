"""What the command logs, and how: as lines of text or of JSON."""

from __future__ import annotations

import logging
import sys
from datetime import datetime
from typing import Final

from bullrush.cli.terminal.visible import visible, visible_json
from bullrush.logs import job_fields

_FORMAT: Final = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class _Lines(logging.Formatter):
    """Lines with the time as ISO 8601 in milliseconds with its zone: Django, for one, sets a zone of its own."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
        """Return the time of a record."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


class TextLines(_Lines):
    """Lines of text. What would command the terminal is shown: texts of exceptions often have data of strangers."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and its traceback."""
        return visible(super().format(record))


class JsonLines(_Lines):
    """One JSON object per record: time, level, logger, message, and what the record has beside (``job_id``...).

    What a handler logs has the job that runs, too.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        import orjson

        line: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        line |= job_fields()
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = orjson.dumps(line, default=repr, option=orjson.OPT_NON_STR_KEYS).decode(errors="replace")
        return visible_json(text, getattr(sys.stderr, "encoding", None))


def set_up_logs(level: str, *, as_json: bool) -> None:
    """Log to stderr. The program's own configuration, made when it is imported, takes precedence."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else TextLines(_FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
