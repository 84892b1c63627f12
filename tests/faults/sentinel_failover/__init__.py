"""How many acknowledged adds `SENTINEL FAILOVER` loses: two producers add to one master while a replica takes over.

One producer has the rights of docs/security.md. The other one may only hear `+switch-master`, so it takes the old
master for the master until then, as every client does that does not know when a failover begins.
"""
