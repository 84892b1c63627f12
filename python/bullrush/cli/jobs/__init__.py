"""The commands about single jobs."""
