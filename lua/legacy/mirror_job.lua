-- Writes how a job ended in BullMQ to the queue of Bull that it came from, as a worker of Bull would have.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, state (completed or failed), finished on (ms), kind of the state (set or zset), count and age (s) of
-- finished jobs to
--         keep ('' for all; count 0 removes the job), channel ('' for none), message, field, value...
-- Returns 1; 0 if the job has ended there already, or does not exist
-- Publishes the message on the channel
local call = redis.call
--- @include release_debounce
local P = string.sub(KEYS[1], 1, -5)
local id, state, finished_on, is_set = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'set'
local keep_count, keep_age, channel, message = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8]
local job_key, key = P .. id, P .. state

local function has_ended(name)
  return is_set and call('SISMEMBER', P .. name, id) == 1 or not is_set and call('ZSCORE', P .. name, id)
end
if call('EXISTS', job_key) == 0 or has_ended('completed') or has_ended('failed') then
  return 0
end
call('HSET', job_key, unpack(ARGV, 9))
release_debounce(P, id)
if keep_count == 0 then
  call('DEL', job_key, job_key .. ':logs')
elseif is_set then
  call('SADD', key, id)
else
  call('ZADD', key, finished_on, id)
  -- As in Bull, but at most so many for one job: the next ones remove the rest.
  local ids = keep_age and call('ZRANGEBYSCORE', key, '-inf', finished_on - keep_age * 1000, 'LIMIT', 0, 500) or {}
  local excess = keep_count and math.min(call('ZCARD', key) - keep_count, 500) or 0
  if excess > #ids then
    ids = call('ZRANGE', key, 0, excess - 1)
  end
  for _, old in ipairs(ids) do
    call('ZREM', key, old)
    call('DEL', P .. old, P .. old .. ':logs')
  end
end
if channel ~= '' then
  call('PUBLISH', channel, message)
end
return 1
