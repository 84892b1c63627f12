"""The queues that a worker serves beside its own: one lane each."""
