--- Adds the next job of a job scheduler, once per fetched job of it.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, scheduler_id, producer_id (the fetched job; it may be missing), cron_next (ms; "" for a scheduler with
---         `every`), every (opts.repeat.every of the fetched job, or "": used if the scheduler's hash has none),
---         name, data (of the fetched job: used if the scheduler's hash has none), opts_json, priority, lifo,
---         deduplication_id ("" = none).
---         opts_json is an object: the options of the fetched job with repeat.count + 1, repeatJobKey, attempts (0 if
---         unset) and timestamp = now, and without jobId, delay and prevMillis, which are added here.
--- Returns the id of the new job, or nil if none was added: the scheduler is gone, the fetched job is not its latest
---         iteration, there is no next slot, or the job of that slot exists.
--- Events  added, then waiting or delayed; duplicated if the job of that slot exists
local call = redis.call
--- @include get_target
--- @include follows_6
--- @include store_scheduler_job

local P = string.sub(KEYS[1], 1, -5)
local now, scheduler_id, producer_id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local opts, priority = ARGV[8], tonumber(ARGV[9])
if not now or not priority or not ARGV[11] or not string.find(opts, '^{.*}$') then
  return redis.error_reply('ERR add_scheduler_iteration: malformed arguments')
end

local latest = call('ZSCORE', P .. 'repeat', scheduler_id)
if not latest or producer_id ~= 'repeat:' .. scheduler_id .. ':' .. latest then
  return false
end
local scheduler_key = P .. 'repeat:' .. scheduler_id
local scheduler = call('HMGET', scheduler_key, 'every', 'offset', 'name', 'data')

local target, blocked, settings = get_target(P)
local of_6 = follows_6(P, settings)
local slot = tonumber(ARGV[4])
local every = tonumber(scheduler[1] or ARGV[5])
if every and every > 0 then
  slot = latest + every
  if slot < now then -- missed slots are skipped, the offset stays
    slot = math.floor(now / every) * every + (tonumber(scheduler[2]) or 0)
    slot = of_6 and slot > now and slot or slot + every -- in BullMQ 5.62.0 at least one interval is skipped
  end
elseif not slot then
  return false
end
local id = 'repeat:' .. scheduler_id .. ':' .. string.format('%.0f', slot)
if call('EXISTS', P .. id) == 1 then
  call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'duplicated', 'jobId', id)
  return false
end

-- In a queue of BullMQ 6 a job does not pass its data on, and does not know the next one.
local data = scheduler[4] or of_6 and '{}' or ARGV[7]
store_scheduler_job(P, scheduler_id, slot, {
  now = now,
  name = scheduler[3] or ARGV[6],
  data = data,
  opts = opts,
  prev_millis = every and '' or string.format('%.0f', slot),
  priority = priority,
  lifo = ARGV[10] == '1',
  deid = ARGV[11],
}, target, blocked, settings)
if not of_6 and not scheduler[4] and data ~= '{}' then
  call('HSET', scheduler_key, 'data', data)
end
call('HINCRBY', scheduler_key, 'ic', 1)
if not of_6 and call('EXISTS', P .. producer_id) == 1 then
  call('HSET', P .. producer_id, 'nrjid', id)
end
return id
