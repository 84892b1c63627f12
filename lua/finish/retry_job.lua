--- Retries a failed attempt at once: active -> wait or prioritized, one attempt more made.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, id, token ("0" = no lock check), lifo, failed_reason, stacktrace_json (both "" = leave the fields)
--- Returns 0, or -1 no such job, -2/-6 lock gone/not ours, -3 not active (lock and fields already written)
--- Events  waiting (prev=delayed) per promoted job, waiting (prev=active)
local call = redis.call
--- @include get_target
--- @include promote_delayed
--- @include leave_active
--- @include make_ready
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[2]
if not tonumber(ARGV[1]) or not ARGV[6] then
  return redis.error_reply('ERR retry_job: malformed arguments')
end
promote_delayed(P, ARGV[1], get_target(P))
local code = leave_active(P, id, ARGV[3], ARGV[5], ARGV[6])
if code ~= 0 then
  return code
end

-- Once more: the slot this job leaves may end the global concurrency limit.
local target, blocked, settings = get_target(P)
local job_key = P .. id
local priority = tonumber(call('HGET', job_key, 'priority')) or 0
make_ready(P, id, priority, ARGV[4] == '1' and 'RPUSH' or 'LPUSH', target, blocked)
call('HINCRBY', job_key, 'atm', 1)
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
  'prev', 'active')
return 0
