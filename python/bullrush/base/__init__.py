"""What all classes stand on: calls written once for both APIs, connections, local events, closing."""
