"""The parts of `drain` and `worker`: what is checked on the driver, and what runs in the tasks."""
