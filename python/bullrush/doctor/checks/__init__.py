"""The checks that need a few round trips: of a server, of a queue, of this machine."""
