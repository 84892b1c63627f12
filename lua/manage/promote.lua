-- Make a delayed job ready to run now.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id
-- Returns 0; -3 the job is not delayed
-- Events  waiting (jobId, prev=delayed)
local call = redis.call
--- @include get_target
--- @include make_ready
local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
local job_key = P .. id
if call('ZREM', P .. 'delayed', id) == 0 then
  return -3
end

local target, blocked = get_target(P)
local priority = tonumber(call('HGET', job_key, 'priority')) or 0
make_ready(P, id, priority, 'LPUSH', target, blocked)
call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
call('HSET', job_key, 'delay', 0)
return 0
