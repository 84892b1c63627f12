"""The fault suite: random faults for servers, connections, processes and jobs, and what must hold after them.

``make faults`` runs it.
"""
