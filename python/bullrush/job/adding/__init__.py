"""New jobs: their check and their encoding, for single jobs and for rows."""
