"""Moves jobs to BullMQ for as long as programs add them to a queue of Bull."""
