"""Routes of queues in Spark: rows that have targets, and workers that have profiles."""
