"""PySpark 3.5 has no data sources of Python: there only the options and the import are tested."""

import importlib.util

collect_ignore = (
    ["test_events.py", "test_offsets.py", "test_planning.py", "test_read.py", "test_stream_read.py", "test_write.py"]
    if importlib.util.find_spec("pyspark.sql.datasource") is None
    else []
)
