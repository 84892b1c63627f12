"""Arrow tables into a queue, and the jobs of a queue as Arrow tables, without a Python object per row."""

from bullrush.arrow.json_rows import json_as_rows
from bullrush.arrow.reader import ArrowReader
from bullrush.arrow.windows import Window, plan_windows, redis_time
from bullrush.arrow.writer import ArrowWriter, rows_as_json

__all__ = ["ArrowReader", "ArrowWriter", "Window", "json_as_rows", "plan_windows", "redis_time", "rows_as_json"]
