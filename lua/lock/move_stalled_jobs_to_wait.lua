-- Put jobs back to wait that were active at the last pass and hold no lock now, then mark the active jobs for the next pass.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), max_stalled_count, stalled_interval (ms), limit (recoveries per call),
--         continued (1 = go on with a pass that had more)
-- Returns [more (0/1), recovered id...]; with more = 1 the rest stays in `stalled`, nothing is marked yet, and the
--         caller calls again with continued = 1
-- Events  per recovered job: waiting (jobId, prev=active), stalled (jobId)
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include max_len_events
--- @include is_repeated
local P = string.sub(KEYS[1], 1, -5)
local active_key, stalled_key, events_key = P .. 'active', P .. 'stalled', P .. 'events'
local max_stalled_count = assert(tonumber(ARGV[2]), 'max_stalled_count is not a number')
local limit = assert(tonumber(ARGV[4]), 'limit is not a number')

-- The guard lets only one worker of a queue pass per interval.
if ARGV[5] ~= '1' and not call('SET', P .. 'stalled-check', ARGV[1], 'PX', ARGV[3], 'NX') then
  return { 0 }
end
call('XTRIM', events_key, 'MAXLEN', '~', max_len_events(P))

-- Read `active` from its old end, where stalled jobs gather, and no further than this call may recover:
-- a pass over a long list of dead jobs costs the same per job however many calls it takes.
local recovered, is_recovered = {}, {}
local kept, read, more = {}, 0, 0
local span, kept_in_span = 0, 0
local length = call('LLEN', active_key)
while read < length and more == 0 do
  local chunk = call('LRANGE', active_key, -read - 1000, -read - 1)
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

-- Cut the end that held them off and put its healthy jobs back: a LREM per job is quadratic when all are stalled.
if span > 0 then
  call('LTRIM', active_key, 0, -span - 1)
  for last = kept_in_span, 1, -1000 do
    local back = {}
    for i = last, math.max(last - 999, 1), -1 do
      back[#back + 1] = kept[i]
    end
    call('RPUSH', active_key, unpack(back))
  end
end

if more == 0 and #recovered > 1 then
  -- A whole pass hands the jobs over in the order of the set, as BullMQ does.
  recovered = {}
  for _, id in ipairs(call('SMEMBERS', stalled_key)) do
    if is_recovered[id] then
      recovered[#recovered + 1] = id
    end
  end
end

local target, blocked = get_target(P)
local returned = {}
for _, id in ipairs(recovered) do
  local job_key = P .. id
  -- An id whose key is no hash is no job: it only leaves active, or it would break every pass to come.
  local stalled = redis.pcall('HINCRBY', job_key, 'stc', 1)
  if type(stalled) == 'number' then
    -- A scheduler's job is exempt: failing it for its worker's crashes would end the series.
    if stalled > max_stalled_count and not is_repeated(job_key) then
      call('HSET', job_key, 'defa', 'job stalled more than allowable limit')
    end
    call('XADD', events_key, '*', 'event', 'waiting', 'jobId', id, 'prev', 'active')
    call('XADD', events_key, '*', 'event', 'stalled', 'jobId', id)
    returned[#returned + 1] = id
  end
end
for first = 1, #recovered, 1000 do
  call('SREM', stalled_key, unpack(recovered, first, math.min(first + 999, #recovered)))
end
for first = 1, #returned, 1000 do
  call('RPUSH', target, unpack(returned, first, math.min(first + 999, #returned)))
end
if #returned > 0 then
  add_marker(P, blocked)
end

if more == 0 then
  call('DEL', stalled_key)
  for first = 1, #kept, 1000 do
    call('SADD', stalled_key, unpack(kept, first, math.min(first + 999, #kept)))
  end
end

table.insert(returned, 1, more)
return returned
