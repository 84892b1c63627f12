-- Moves delayed jobs that are due to where they may run now, as every fetch of a worker does.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), limit (1 to 1000) [, "fan_out" (see fan_out)]
-- Returns how many it moved
-- Events  per job: waiting (jobId, prev=delayed)
local call = redis.call
--- @include get_target
--- @include promote_delayed
local P = string.sub(KEYS[1], 1, -5)
local target, blocked = get_target(P)
local promoted = promote_delayed(P, assert(tonumber(ARGV[1]), 'now is not a number'), target, blocked, ARGV[2])
if promoted and ARGV[3] then
  --- @include fan_out
  fan_out(P, blocked, promoted)
end
return promoted and #promoted or 0
