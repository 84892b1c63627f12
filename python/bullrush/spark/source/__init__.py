"""The data source ``bullmq``: queues as tables and streams. See docs/spark-source.md.

PySpark finds it through the package ``pyspark_bullrush``.
"""
