//! Producer and inspection calls on one queue.
