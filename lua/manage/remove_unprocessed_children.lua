-- Removes the children that a job still waits for, and theirs; locked and failed jobs stay.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id (of the parent)
-- Returns 0
-- Events  per removed job, in its own queue: removed (jobId, prev=name of the key that held it or unknown);
--         waiting (jobId, prev=waiting-children) for a parent that loses its last dependency
local call = redis.call
--- @include remove_job
remove_children(string.sub(KEYS[1], 1, -5) .. ARGV[1], 'unprocessed', {})
remove_noted()
return reply_or_error(0)
