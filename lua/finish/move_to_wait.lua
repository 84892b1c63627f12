--- Moves an active job back, to run next: active -> wait, or prioritized before all jobs of its priority. No attempt is
--- counted.
--- KEYS[1] <prefix>:<queue>:meta
--- KEYS[2] optional: <prefix>:<queue>:meta of another queue whose rate limit counts
--- ARGV    id, token ("0" = no lock check)
--- Returns ms until the rate limit ends (0 = not limited), or -1 no such job, -2/-6 lock gone/not ours
--- Events  waiting (prev=active); none if the job was not active
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include leave_active
--- @include priority_of
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local id, token = ARGV[1], ARGV[2]
if not token then
  return redis.error_reply('ERR move_to_wait: malformed arguments')
end
local code = check_active(P, id, token)
if code ~= 0 and code ~= -3 then
  return code
end
local limited = KEYS[2] and string.sub(KEYS[2], 1, -5) or P
local limit_ttl = math.max(call('PTTL', limited .. 'limiter'), 0)
local target, _, settings = get_target(P)
local place = { ids = { id }, key = target, push = 'RPUSH' }
local priority = priority_of(call('HGET', P .. id, 'priority'))
if priority > 0 then
  place = { ids = { id }, key = P .. 'prioritized', scores = { priority * 4294967296 } }
end
if leave_active(P, id, token, code, place, {}, {}) == 0 then
  local _, blocked = get_target(P, settings)
  add_marker(P, blocked)
  call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
    'prev', 'active')
  drop_lock(P, id, token)
end
return limit_ttl
