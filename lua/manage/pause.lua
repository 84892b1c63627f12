-- Pauses the queue: running jobs continue, no job is fetched.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    none
-- Returns 0
-- Events  paused (on every call)
local call = redis.call
--- @include pause_queue
pause_queue(string.sub(KEYS[1], 1, -5))
return 0
