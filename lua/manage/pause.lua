-- Pauses the queue: running jobs continue, no job is fetched.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    none
-- Returns 0
-- Events  paused (on every call)
local call = redis.call
--- @include join_waiting
local P = string.sub(KEYS[1], 1, -5)
-- The deletion comes first: a Redis that is out of memory refuses no script that began with one. So a queue can be
-- paused before it is emptied.
call('DEL', P .. 'marker')
join_waiting(P, P .. 'paused')
call('HSET', KEYS[1], 'paused', 1)
call('XADD', P .. 'events', '*', 'event', 'paused')
return 0
