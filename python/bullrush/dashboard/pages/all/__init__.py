"""Pages about all queues that the viewer may see."""
