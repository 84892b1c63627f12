"""Benchmarks of bullrush and its peers: one file per question; `harness` measures, `peers` are what is measured."""
