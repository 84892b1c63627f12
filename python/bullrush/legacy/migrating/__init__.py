"""Moves a queue of Bull to BullMQ."""
