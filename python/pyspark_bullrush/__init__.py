"""Where PySpark finds the data source ``bullmq`` of `bullrush.spark.source`.

It imports every top-level package that begins with ``pyspark_`` when a program first asks for a data source. So this
import must never fail, for whatever is missing: on PySpark 3.5 there is no such data source.
"""

try:
    from bullrush.spark.source.source import DefaultSource
except ImportError:
    __all__ = []
else:
    __all__ = ["DefaultSource"]
