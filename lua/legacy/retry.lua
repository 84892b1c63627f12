-- Moves a failed job of Bull back to where it waits. The attempts that it has made still count, as with Bull.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, lifo (1 or 0), flavour (1, 2, 3 or 4), now, token of the producer
-- Returns 0; -1 no such job; -3 the job has not failed; -6 a worker still holds its lock
-- Publishes <prefix>:<queue>:jobs the id (1.x and 2.x), or <prefix>:<queue>:waiting@<token>
local call = redis.call
--- @include move_jobs
--- @include legacy_target
local P = string.sub(KEYS[1], 1, -5)
local id, lifo, flavour, now, token = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4], ARGV[5]
if call('EXISTS', P .. id) == 0 then
  return -1
end
local old = flavour == '1' or flavour == '2'
if not (old and call('SISMEMBER', P .. 'failed', id) == 1 or not old and call('ZSCORE', P .. 'failed', id)) then
  return -3
end
if call('EXISTS', P .. id .. ':lock') == 1 then
  return -6
end
local target = legacy_target(P)
if not old then
  call('HDEL', P .. id, 'finishedOn', 'processedOn', 'failedReason')
  call('HSET', P .. id, 'retriedOn', now)
end
move_jobs({ { ids = { id }, key = target, push = lifo and 'RPUSH' or 'LPUSH' } }, function()
  call(old and 'SREM' or 'ZREM', P .. 'failed', id)
end)
call('PUBLISH', P .. (old and 'jobs' or 'waiting@' .. token), id)
return 0
