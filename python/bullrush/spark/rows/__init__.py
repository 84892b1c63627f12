"""DataFrames as rows that become jobs: their checks, their batch, and how they are divided."""
