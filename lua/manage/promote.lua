-- Moves a delayed job to where it may run now.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id
-- Returns 0; -3 the job is not delayed
-- Events  waiting (jobId, prev=delayed)
local call = redis.call
--- @include ready_place
--- @include get_target
--- @include add_marker
--- @include move_jobs
--- @include priority_of
local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
local job_key = P .. id
if not call('ZSCORE', P .. 'delayed', id) then
  return -3
end

local target, blocked = get_target(P)
local priority = priority_of(call('HGET', job_key, 'priority'))
call('HSET', job_key, 'delay', 0)
add_marker(P, blocked)
move_jobs({ ready_place(P, id, priority, 'LPUSH', target) }, function()
  call('ZREM', P .. 'delayed', id)
end)
call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
return 0
