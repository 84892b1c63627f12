"""The migrator of legacy queues, killed after every command that it sends."""
