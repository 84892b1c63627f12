"""Starts a peer: ``python -m benches.peers rq_peer``. Its module is imported once, by the name that Redis has."""

import importlib
import sys

importlib.import_module(f"benches.peers.{sys.argv[1]}").main()
