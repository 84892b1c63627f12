--- Delays an active job: active -> delayed, due `delay` ms from now.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, id, token ("0" = no lock check), delay, skip_attempt ("1" = do not count an attempt),
---         failed_reason, stacktrace_json (both "" = leave the fields)
--- Returns 0, or -1 no such job, -2/-6 lock gone/not ours, -3 not active (lock deleted and fields written already)
--- Events  delayed
local call = redis.call
--- @include leave_active
--- @include count_attempt
--- @include delayed_score
--- @include add_delay_marker
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local id, token, delay = ARGV[2], ARGV[3], ARGV[4]
if not tonumber(ARGV[1]) or not tonumber(delay) or not ARGV[7] then
  return redis.error_reply('ERR move_to_delayed: malformed arguments')
end
local code = check_active(P, id, token)
if code ~= 0 and code ~= -3 then
  return code
end

local due = ARGV[1] + math.max(tonumber(delay), 0)
local failure = failure_fields(ARGV[6], ARGV[7])
local fields = { 'delay', delay, unpack(failure) }
local made = ARGV[5] ~= '1' and call('HMGET', P .. id, 'atm', 'attemptsMade')
if made then
  count_attempt(P, id, made[1], made[2], fields)
end
local place = { ids = { id }, key = P .. 'delayed', scores = { (delayed_score(P, due)) } }
code = leave_active(P, id, token, code, place, fields, failure)
if code ~= 0 then
  return code
end
if made and made[2] then
  call('HDEL', P .. id, 'attemptsMade')
end
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'delayed', 'jobId', id, 'delay', due)
add_delay_marker(P)
drop_lock(P, id, token)
return 0
