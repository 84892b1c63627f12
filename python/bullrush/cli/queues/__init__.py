"""The commands about queues as a whole."""
