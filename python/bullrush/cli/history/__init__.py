"""The commands that write and read a history of jobs."""
