--- Wakes a worker for what is left in the queue: for a job that may run now, and for the next delayed one. A worker
--- calls it as the last thing when it stops taking jobs: a marker may have been popped for it that it never got, and
--- its own timers end. Under a rate limit as well: the worker that wakes learns how long it lasts, and looks again
--- then.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    none
--- Returns 1 if a job may run now; 0 if none is there, or the queue is paused or at its global concurrency
--- Events  none
local call = redis.call
--- @include add_delay_marker
--- @include add_marker
--- @include get_target

local P = string.sub(KEYS[1], 1, -5)
local _, blocked = get_target(P)
local ready = not blocked and (call('LLEN', P .. 'wait') > 0 or call('ZCARD', P .. 'prioritized') > 0)
if ready then
  add_marker(P)
end
add_delay_marker(P)
return ready and 1 or 0
