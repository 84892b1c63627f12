"""The base of all classes: calls written once for both APIs, connections, local events, closing."""
