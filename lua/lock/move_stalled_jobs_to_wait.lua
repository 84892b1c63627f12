-- Moves jobs back to wait that were active at the last pass and have no lock now, then marks the active jobs for the
-- next pass. For a job that was only claimed ahead and never started, no stall is counted.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), max_stalled_count, stalled_interval (ms), limit (recoveries per call),
--         continued (1 = continue a pass that had more) [, "fan_out" (see fan_out)]
-- Returns [more (0/1), stalled id...]; with more = 1 the rest stays in `stalled`, nothing is marked yet, and the
--         caller calls again with continued = 1
-- Events  per recovered job: waiting (jobId, prev=active), and stalled (jobId) if it had started
local call = redis.call
--- @include get_target
--- @include follows_6
--- @include add_marker
--- @include max_len_events
--- @include is_repeated
--- @include call_many
--- @include move_jobs
--- @include rewrite_end
local P = string.sub(KEYS[1], 1, -5)
local active_key, stalled_key, events_key = P .. 'active', P .. 'stalled', P .. 'events'
local max_stalled_count = assert(tonumber(ARGV[2]), 'max_stalled_count is not a number')
local limit = assert(tonumber(ARGV[4]), 'limit is not a number')

-- Only one worker of a queue runs a pass per interval.
if ARGV[5] ~= '1' and not call('SET', P .. 'stalled-check', ARGV[1], 'PX', ARGV[3], 'NX') then
  return { 0 }
end
local target, _, settings = get_target(P)
call('XTRIM', events_key, 'MAXLEN', '~', max_len_events(P, settings[5]))

-- Read `active` from its old end, where stalled jobs are, and no further than this call may recover. So the cost per
-- stalled job does not depend on the number of calls.
local recovered, is_recovered = {}, {}
local kept, read, more = {}, 0, 0
local span, kept_in_span = 0, 0
local length = call('LLEN', active_key)
while read < length and more == 0 do
  -- If all jobs have stalled, one job more than the call may recover is all that it reads.
  local wanted = read == 0 and math.min(limit + 1, 1000) or 1000
  local chunk = call('LRANGE', active_key, -read - wanted, -read - 1)
  local marked = call('SMISMEMBER', stalled_key, unpack(chunk))
  local lock_keys = {}
  for i = #chunk, 1, -1 do
    if marked[i] == 1 then
      lock_keys[#lock_keys + 1] = P .. chunk[i] .. ':lock'
    end
  end
  local locks = #lock_keys > 0 and call('MGET', unpack(lock_keys))
  local suspect = 0
  for i = #chunk, 1, -1 do
    local id = chunk[i]
    suspect = suspect + marked[i]
    if marked[i] == 1 and not locks[suspect] and not is_recovered[id] then
      if #recovered >= limit then
        more = 1
        break
      end
      recovered[#recovered + 1] = id
      is_recovered[id] = true
      span, kept_in_span = read + 1, #kept
    else
      kept[#kept + 1] = id
    end
    read = read + 1
  end
end

if more == 0 and #recovered > 1 then
  -- A whole pass moves the jobs in the order of the set, as BullMQ does.
  recovered = {}
  for _, id in ipairs(call('SMEMBERS', stalled_key)) do
    if is_recovered[id] then
      recovered[#recovered + 1] = id
    end
  end
end

-- The cases: the job never started (it was only claimed ahead when its worker died), it started, it is finished (the
-- call that finished it stopped half-way), its key is no hash and it is no job, or its hash is gone: then nothing is
-- written to its key, and the fetch drops the id.
local returned, started, gone = {}, {}, {}
for _, id in ipairs(recovered) do
  local job = redis.pcall('HMGET', P .. id, 'ats', 'atm', 'processedOn', 'finishedOn', 'stc', 'name')
  if not job.err then
    local finished = job[4] and (call('ZSCORE', P .. 'completed', id) or call('ZSCORE', P .. 'failed', id))
    if not finished then
      returned[#returned + 1] = id
      local starts = tonumber(job[1])
      if not (job[1] or job[3] or job[5] or job[6]) and call('HLEN', P .. id) == 0 then
        gone[id] = true
      elseif starts then
        started[id] = starts > (tonumber(job[2]) or 0) -- a start makes at most one attempt
      else
        started[id] = job[3] or job[5] or not job[6] -- an old client may have started it
      end
    end
  end
end

-- They enter the waiting list before they leave active, and leave it again if that fails: no job is ever in no list.
move_jobs(returned[1] and { { key = target, push = 'RPUSH', ids = returned } } or {}, function()
  if span > 0 then
    -- Cut off the end of the list and push its other jobs again: one LREM per job is quadratic if all are stalled.
    local back = {}
    for i = kept_in_span, 1, -1 do
      back[#back + 1] = kept[i]
    end
    rewrite_end(active_key, span, back)
  end
end)

for _, id in ipairs(returned) do
  local job_key = P .. id
  call('XADD', events_key, '*', 'event', 'waiting', 'jobId', id, 'prev', 'active')
  if started[id] then
    -- Not for a scheduler's job: if it failed because its worker crashed, the series would end.
    if call('HINCRBY', job_key, 'stc', 1) > max_stalled_count
      and not is_repeated(P, job_key, follows_6(P, settings)) then
      call('HSET', job_key, 'defa', 'job stalled more than allowable limit')
    end
    call('XADD', events_key, '*', 'event', 'stalled', 'jobId', id)
  elseif not gone[id] then
    -- Counts as no stall, but the job is not claimed ahead again: its next start is recorded at once.
    call('HSET', job_key, 'stc', '0')
  end
end
call_many('SREM', stalled_key, recovered)
if #returned > 0 then
  local _, blocked = get_target(P, settings)
  add_marker(P, blocked)
  if ARGV[6] then
    --- @include fan_out
    fan_out(P, blocked, returned)
  end
end

if more == 0 then
  call('DEL', stalled_key)
  call_many('SADD', stalled_key, kept)
end

local reply = { more }
for _, id in ipairs(returned) do
  if started[id] then
    reply[#reply + 1] = id
  end
end
return reply
