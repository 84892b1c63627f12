"""The calls of a job, by what they are about."""
