--- Retries a failed attempt at once: active -> wait or prioritized. Counts an attempt.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, id, token ("0" = no lock check), lifo, failed_reason, stacktrace_json (both "" = leave the fields)
---         [, "fan_out" (see fan_out)]
--- Returns 0, or -1 no such job, -2/-6 lock gone/not ours, -3 not active (lock deleted and fields written already)
--- Events  waiting (prev=delayed) per promoted job, waiting (prev=active)
local call = redis.call
--- @include ready_place
--- @include get_target
--- @include promote_delayed
--- @include leave_active
--- @include count_attempt
--- @include add_marker
--- @include priority_of
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local id, token = ARGV[2], ARGV[3]
if not tonumber(ARGV[1]) or not ARGV[6] then
  return redis.error_reply('ERR retry_job: malformed arguments')
end
local target, blocked = get_target(P)
local promoted = promote_delayed(P, ARGV[1], target, blocked)
if promoted and ARGV[7] then
  --- @include fan_out
  fan_out(P, blocked, { id, unpack(promoted) })
end
local code = check_active(P, id, token)
if code ~= 0 and code ~= -3 then
  return code
end

local job = call('HMGET', P .. id, 'priority', 'atm', 'attemptsMade')
local target, _, settings = get_target(P)
local failure = failure_fields(ARGV[5], ARGV[6])
local fields = { unpack(failure) }
count_attempt(P, id, job[2], job[3], fields)
local place = ready_place(P, id, priority_of(job[1]), ARGV[4] == '1' and 'RPUSH' or 'LPUSH', target)
code = leave_active(P, id, token, code, place, fields, failure)
if code ~= 0 then
  return code
end
if job[3] then
  call('HDEL', P .. id, 'attemptsMade')
end

-- Read again: this job has left active, so the queue may be below its global concurrency now.
local _, blocked = get_target(P, settings)
add_marker(P, blocked)
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
  'prev', 'active')
drop_lock(P, id, token)
return 0
