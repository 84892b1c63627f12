"""Several processes of the command: a supervisor, and the line to each of them."""
