-- Moves a finished job back to wait (BullMQ's Job.retry); in a queue of BullMQ 6 with its priority.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, state (completed or failed), lifo, reset_attempts_made, reset_attempts_started (1 = count from 0 again)
--         [, finished_on: only if it still finished then]
-- Returns 0; -1 no such job; -3 the job is not in that state, or has finished at another time
-- Events  waiting (jobId, prev=state)
local call = redis.call
--- @include get_target
--- @include follows_6
--- @include add_marker
--- @include max_len_events
--- @include move_jobs
--- @include priority_of
--- @include ready_place
--- @include relink_parent
local P = string.sub(KEYS[1], 1, -5)
local id, state, lifo = ARGV[1], ARGV[2], ARGV[3] == '1'
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end
if (state ~= 'completed' and state ~= 'failed') or not call('ZSCORE', P .. state, id) then
  return -3
end
if ARGV[6] and ARGV[6] ~= (call('HGET', job_key, 'finishedOn') or '') then
  return -3
end

local gone = { 'finishedOn', 'processedOn', state == 'failed' and 'failedReason' or 'returnvalue' }
if ARGV[4] == '1' then
  -- `attemptsMade` is the name in older versions; if present, it counts.
  gone[4], gone[5] = 'atm', 'attemptsMade'
end
if ARGV[5] == '1' then
  gone[#gone + 1] = 'ats'
end
local fields = call('HMGET', job_key, 'parentKey', 'priority')
local target, blocked, settings = get_target(P)
-- BullMQ 5 ignores the priority here: the job goes to the plain list.
local priority = follows_6(P, settings) and priority_of(fields[2]) or 0
call('HDEL', job_key, unpack(gone))
add_marker(P, blocked)
move_jobs({ ready_place(P, id, priority, lifo and 'RPUSH' or 'LPUSH', target) }, function()
  call('ZREM', P .. state, id)
end)
local max_len = max_len_events(P, settings[5])
call('XADD', P .. 'events', 'MAXLEN', '~', max_len, '*', 'event', 'waiting', 'jobId', id, 'prev', state)
-- Last, since these are keys of another job: an error about them is returned, but this job has moved.
relink_parent(job_key, fields[1], state)
return 0
