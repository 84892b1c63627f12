"""What runs inside the tasks of Spark, on the executors."""
