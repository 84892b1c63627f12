-- Moves completed or failed jobs back to wait, in the order in which they finished, up to a given time of finish.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    state (completed or failed), count (jobs per call), timestamp (latest finish, ms)
--         [, "fan_out" (see fan_out)]
-- Returns 1 there may be more; 0 done; -3 no such state
-- Events  per job: waiting (jobId, prev=state)
local call = redis.call
--- @include move_set_to_wait
local count = assert(tonumber(ARGV[2]), 'count is not a number')
if ARGV[1] ~= 'completed' and ARGV[1] ~= 'failed' then
  return -3
end
return move_set_to_wait(string.sub(KEYS[1], 1, -5), ARGV[1], ARGV[3], count, ARGV[4])
