"""Running tasks: dependencies, middleware, and the handler that a worker calls."""
