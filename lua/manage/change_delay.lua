-- Changes the delay of a delayed job: it becomes due `delay` ms from now.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), id, delay (ms)
-- Returns 0; -1 no such job; -3 the job is not delayed
-- Events  delayed (jobId, delay=due ms)
local call = redis.call
--- @include delayed_score
--- @include add_delay_marker
--- @include max_len_events
local P = string.sub(KEYS[1], 1, -5)
local now = assert(tonumber(ARGV[1]), 'now is not a number')
local id = ARGV[2]
local delay = assert(tonumber(ARGV[3]), 'delay is not a number')
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end

if not call('ZSCORE', P .. 'delayed', id) then
  return -3
end
local due = now + math.max(delay, 0)
-- The score is computed while the job is still in its old place, as in BullMQ.
call('ZADD', P .. 'delayed', (delayed_score(P, due)), id)
call('HSET', job_key, 'delay', ARGV[3])
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'delayed', 'jobId', id, 'delay', due)
add_delay_marker(P)
return 0
