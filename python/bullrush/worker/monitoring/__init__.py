"""What a worker tells monitors: its health, and metrics for Prometheus."""
