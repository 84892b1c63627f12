"""Servers of the tests beyond a single one: Sentinel, Cluster, TLS. All of them listen on this machine only."""
