-- Resumes a paused queue and wakes a worker if there is a job to run.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    none [, "fan_out" (see fan_out)]
-- Returns 0
-- Events  resumed (on every call)
local call = redis.call
--- @include join_waiting
--- @include add_delay_marker
--- @include follows_6
local P = string.sub(KEYS[1], 1, -5)
-- A version 6 pause leaves the jobs in `wait`; they need a marker as well as those in `paused`, in a queue of 6 even if
-- it was not paused. The marker comes first: after a stopped call, the next one could not see that they need it.
local looks_at_wait = call('HEXISTS', KEYS[1], 'paused') == 1 or follows_6(P)
local has_jobs = false
if call('EXISTS', P .. 'paused', P .. 'prioritized') > 0 or (looks_at_wait and call('EXISTS', P .. 'wait') == 1) then
  call('ZADD', P .. 'marker', 0, '0')
  has_jobs = true
else
  add_delay_marker(P)
end
join_waiting(P, P .. 'wait')
call('HDEL', KEYS[1], 'paused')
call('XADD', P .. 'events', '*', 'event', 'resumed')
if has_jobs and ARGV[1] then
  --- @include get_target
  --- @include fan_out
  local ids = call('LRANGE', P .. 'wait', -256, -1)
  if #ids < 256 then
    for _, id in ipairs(call('ZRANGE', P .. 'prioritized', 0, 255 - #ids)) do
      ids[#ids + 1] = id
    end
  end
  local _, blocked = get_target(P)
  fan_out(P, blocked, ids)
end
return 0
