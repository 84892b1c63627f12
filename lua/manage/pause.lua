-- Pause the queue: running jobs go on, nothing new is fetched.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    none
-- Returns 0
-- Events  paused (on every call)
local call = redis.call
--- @include join_waiting
local P = string.sub(KEYS[1], 1, -5)
-- A full Redis refuses no script that began with a deletion: who pauses a queue may want to empty it.
call('DEL', P .. 'marker')
join_waiting(P, P .. 'paused')
call('HSET', KEYS[1], 'paused', 1)
call('XADD', P .. 'events', '*', 'event', 'paused')
return 0
