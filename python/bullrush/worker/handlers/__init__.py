"""The handlers of a worker: what kind of functions they are, and which one runs a job."""
