--- Creates or updates a job scheduler, with its next job. If its latest job still waits, it is replaced and keeps its
--- slot. In a queue of BullMQ 6 it only keeps it if `every` is the same.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, scheduler_id, cron_next (ms; "" with `every`), every (ms; "" with a pattern), start_date (ms or ""),
---         name, data, opts_json, priority, lifo, deduplication_id ("" = none), then the fields of the scheduler's hash
---         except `offset` and `ic`: field, value, ...
---         opts_json is an object: the job's options without jobId, delay and prevMillis, which are added here.
--- Returns { job id, delay (ms) }, or -10 if the job of the cron slot exists and cannot be replaced, -11 if the jobs of
---         two slots in a row exist, in a queue of BullMQ 6 of 33.
--- Events  added, then waiting or delayed
local call = redis.call
--- @include get_target
--- @include follows_6
--- @include remove_deduplication
--- @include store_scheduler_job

local P = string.sub(KEYS[1], 1, -5)
local now, scheduler_id, cron_next, every = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local priority = tonumber(ARGV[9])
if not now or not (cron_next or every and every > 0) or not priority or not string.find(ARGV[8], '^{.*}$')
  or #ARGV < 13 or #ARGV % 2 == 0 then
  return redis.error_reply('ERR add_job_scheduler: malformed arguments')
end

local scheduler_key = P .. 'repeat:' .. scheduler_id
local latest = call('ZSCORE', P .. 'repeat', scheduler_id)
local stored = call('HMGET', scheduler_key, 'offset', 'ic', 'every')
local target, blocked, settings = get_target(P)
local of_6 = follows_6(P, settings)
local restarts = of_6 and not (every and tonumber(stored[3]) == every)
local slot, offset = cron_next, '0'
if every then
  slot = latest and not restarts and latest + every or math.max(tonumber(ARGV[5]) or now, now)
  if slot < now then -- missed slots are skipped
    slot = math.floor(now / every) * every + every
  end
  offset = string.format('%.0f', slot % every)
end

local function job_key(at)
  return P .. 'repeat:' .. scheduler_id .. ':' .. string.format('%.0f', at)
end

local waiting_id = latest and 'repeat:' .. scheduler_id .. ':' .. latest
local from, is_set
if latest and call('EXISTS', P .. waiting_id) == 1 then
  from, is_set = find_waiting(P, waiting_id)
end
if from then
  slot, offset = restarts and slot or tonumber(latest), stored[1]
end
local looked_at = 1
while not (from and job_key(slot) == P .. waiting_id) and call('EXISTS', job_key(slot)) == 1 do
  if not every then
    return -10
  elseif looked_at == (of_6 and 33 or 2) then
    return -11
  end
  looked_at, slot = looked_at + 1, slot + every
end

local scheduler = { 'ic', stored[2] or '1', unpack(ARGV, 12) }
if offset then
  scheduler[#scheduler + 1], scheduler[#scheduler + 2] = 'offset', offset
end
if not (from and restarts) then
  write_hash(scheduler_key, scheduler)
end
if from then
  remove_deduplication(P, waiting_id, call('HGET', P .. waiting_id, 'deid'))
  local replaced = P .. waiting_id -- its hash is written again or deleted below
  call('DEL', replaced .. ':logs', replaced .. ':dependencies', replaced .. ':processed', replaced .. ':failed',
    replaced .. ':unsuccessful')
end
local delay = store_scheduler_job(P, scheduler_id, slot, {
  now = now,
  name = ARGV[6],
  data = ARGV[7],
  opts = ARGV[8],
  prev_millis = every and '' or ARGV[3],
  priority = priority,
  lifo = ARGV[10] == '1',
  deid = ARGV[11],
}, target, blocked, settings, from and { id = waiting_id, slot = latest, from = from, is_set = is_set })
if from and restarts then -- last: a call that is made again after an error must find the old rule
  write_hash(scheduler_key, scheduler)
end
return { 'repeat:' .. scheduler_id .. ':' .. string.format('%.0f', slot), delay }
