"""The Spark data source ``bullmq``: queues as tables and streams. See docs/spark-source.md.

PySpark finds it by its name: it imports every top-level package that begins with ``pyspark_`` when a program first asks
for a data source. So this import must never fail, for whatever is missing: on PySpark 3.5 there is no such data source.
"""

try:
    from pyspark_bullrush.source import DefaultSource
except ImportError:
    __all__ = []
else:
    __all__ = ["DefaultSource"]
