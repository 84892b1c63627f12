--- Produces the next iteration of a job scheduler, once per taken iteration.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, scheduler_id, producer_id (the job taken), cron_next (ms; "" for a scheduler with `every`),
---         every (opts.repeat.every of the job taken, or "": used if the scheduler's hash has none),
---         name, data (of the job taken: used if the scheduler's hash has none), opts_json, priority, lifo.
---         opts_json is an object: the options of the job taken with repeat.count + 1, repeatJobKey, attempts (0 if
---         unset) and timestamp = now, and without jobId, delay and prevMillis, which are appended here.
--- Returns the id of the new job, or nil if nothing was to be produced: the scheduler is gone, the job taken is not its
---         latest iteration, it has no slot, or that slot's job exists.
--- Events  added, then waiting or delayed; duplicated if the job of that slot exists
local call = redis.call
--- @include get_target
--- @include max_len_events
--- @include add_marker
--- @include add_delay_marker
--- @include delayed_score
--- @include push_prioritized

local P = string.sub(KEYS[1], 1, -5)
local now, scheduler_id, producer_id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local opts, priority = ARGV[8], tonumber(ARGV[9])
if not now or not priority or not ARGV[10] or not string.find(opts, '^{.*}$') then
  return redis.error_reply('ERR add_scheduler_iteration: malformed arguments')
end

local latest = call('ZSCORE', P .. 'repeat', scheduler_id)
if not latest or producer_id ~= 'repeat:' .. scheduler_id .. ':' .. latest then
  return false
end
local scheduler_key = P .. 'repeat:' .. scheduler_id
local scheduler = call('HMGET', scheduler_key, 'every', 'offset', 'name', 'data')

local next_millis = tonumber(ARGV[4])
local every = tonumber(scheduler[1] or ARGV[5])
if every and every > 0 then
  next_millis = latest + every
  if next_millis < now then -- missed slots are skipped, keeping the phase
    next_millis = math.floor(now / every) * every + every + (tonumber(scheduler[2]) or 0)
  end
elseif not next_millis then
  return false
end
local slot = string.format('%.0f', next_millis)
local id = 'repeat:' .. scheduler_id .. ':' .. slot
local job_key = P .. id
local target, blocked, settings = get_target(P)
local events = P .. 'events'
local max_events = max_len_events(P, settings[5])
if call('EXISTS', job_key) == 1 then
  call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'duplicated', 'jobId', id)
  return false
end

local name, data = scheduler[3] or ARGV[6], scheduler[4]
if not data then
  data = ARGV[7]
  if data ~= '{}' then
    call('HSET', scheduler_key, 'data', data)
  end
end
local delay = string.format('%.0f', math.max(next_millis - now, 0))
local appended = '"jobId":' .. cjson.encode(id) .. ',"delay":' .. delay
if not every then
  appended = appended .. ',"prevMillis":' .. slot
end
opts = string.sub(opts, 1, -2) .. (string.find(opts, '^{%s*}$') and '' or ',') .. appended .. '}'

call('ZADD', P .. 'repeat', slot, scheduler_id)
call('HINCRBY', scheduler_key, 'ic', 1)
call('INCR', P .. 'id')
call('HSET', job_key, 'name', name, 'data', data, 'opts', opts, 'timestamp', ARGV[1], 'delay', delay,
  'priority', ARGV[9], 'rjk', scheduler_id)
call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
if delay ~= '0' then
  local score = delayed_score(P, next_millis)
  call('ZADD', P .. 'delayed', score, id)
  call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'delayed', 'jobId', id, 'delay', slot)
  add_delay_marker(P)
else
  if priority == 0 then
    call(ARGV[10] == '1' and 'RPUSH' or 'LPUSH', target, id)
  else
    push_prioritized(P, id, priority)
  end
  call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'waiting', 'jobId', id)
  add_marker(P, blocked)
end
call('HSET', P .. producer_id, 'nrjid', id)
return id
