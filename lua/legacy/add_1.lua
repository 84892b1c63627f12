-- Adds a job to a queue of Bull 1.x.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    data (JSON), options (JSON), timestamp, delay, attempts, lifo (1 or 0)
-- Returns the id
-- Publishes <prefix>:<queue>:jobs the id, or <prefix>:<queue>:delayed the time at which the job is due
local call = redis.call
local P = string.sub(KEYS[1], 1, -5)
local data, opts, timestamp, delay, attempts, lifo = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6] == '1'
local id = call('INCR', P .. 'id')
call('HSET', P .. id, 'data', data, 'opts', opts, 'progress', 0, 'delay', delay, 'timestamp', timestamp, 'attempts', attempts,
  'attemptsMade', 0, 'stacktrace', '[]', 'returnvalue', 'null')
if delay > 0 then
  local due = tonumber(timestamp) + delay
  call('ZADD', P .. 'delayed', due * 4096 + id % 4096, id)
  call('PUBLISH', P .. 'delayed', due)
else
  local list = call('EXISTS', P .. 'meta-paused') == 1 and 'paused' or 'wait'
  call(lifo and 'RPUSH' or 'LPUSH', P .. list, id)
  call('PUBLISH', P .. 'jobs', id)
end
return tostring(id)
