"""``bullrush migrate``: moves a queue of Bull to BullMQ."""
