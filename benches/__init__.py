"""Benchmarks of bullrush against its peers: one file per question, `harness` asks it, `peers` answer it."""
