--- Gives an active job back, to run next: active -> wait or the front of its priority. No attempt is counted.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    id, token ("0" = no lock check)
--- Returns ms until the rate limit ends (0 = not limited), or -1 no such job, -2/-6 lock gone/not ours
--- Events  waiting (prev=active); none if the job was not active
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include release_lock
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
if not ARGV[2] then
  return redis.error_reply('ERR move_to_wait: malformed arguments')
end
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end
local code = release_lock(P, id, ARGV[2])
if code ~= 0 then
  return code
end
if call('LREM', P .. 'active', 1, id) == 1 then
  local target, blocked, settings = get_target(P)
  local priority = tonumber(call('HGET', job_key, 'priority')) or 0
  if priority > 0 then
    call('ZADD', P .. 'prioritized', priority * 4294967296, id)
  else
    call('RPUSH', target, id)
    add_marker(P, blocked)
  end
  call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
    'prev', 'active')
end
return math.max(call('PTTL', P .. 'limiter'), 0)
