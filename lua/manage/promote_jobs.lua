-- Moves delayed jobs to the waiting list, in the order in which they are due.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    count (jobs per call) [, "fan_out" (see fan_out)]
-- Returns 1 there may be more; 0 done
-- Events  per job: waiting (jobId, prev=delayed)
local call = redis.call
--- @include move_set_to_wait
local count = assert(tonumber(ARGV[1]), 'count is not a number')
return move_set_to_wait(string.sub(KEYS[1], 1, -5), 'delayed', '+inf', count, ARGV[2])
