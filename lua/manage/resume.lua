-- Resume a paused queue and wake a worker if there is something to run.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    none
-- Returns 0
-- Events  resumed (on every call)
local call = redis.call
--- @include join_waiting
--- @include add_delay_marker
local P = string.sub(KEYS[1], 1, -5)
local moved = call('EXISTS', P .. 'paused') == 1
join_waiting(P, P .. 'wait')
-- A version 6 pause leaves the jobs in `wait`; they need a wake-up as much as those that were in `paused`.
local was_paused = call('HDEL', KEYS[1], 'paused') == 1
if moved or call('EXISTS', P .. 'prioritized') == 1 or (was_paused and call('EXISTS', P .. 'wait') == 1) then
  call('ZADD', P .. 'marker', 0, '0')
else
  add_delay_marker(P)
end
call('XADD', P .. 'events', '*', 'event', 'resumed')
return 0
