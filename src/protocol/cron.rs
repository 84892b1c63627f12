//! When a job scheduler fires next, as cron-parser 4.9 computes it.
