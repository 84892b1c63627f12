-- Put jobs back to wait that were active at the last pass and hold no lock now, then mark the active jobs for the next pass.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), max_stalled_count, stalled_interval (ms), limit (recoveries per call), continued (1 = go on with a pass that had more)
-- Returns [more (0/1), recovered id...]; with more = 1 the rest stays in `stalled`, nothing is marked yet, and the caller calls again with continued = 1
-- Events  per recovered job: waiting (jobId, prev=active), stalled (jobId)
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include max_len_events
--- @include is_repeated
--- @include remove_from_list
local P = string.sub(KEYS[1], 1, -5)
local max_stalled_count = assert(tonumber(ARGV[2]), 'max_stalled_count is not a number')
local limit = assert(tonumber(ARGV[4]), 'limit is not a number')

-- The guard keeps the workers of a queue from passing more than once per interval.
if ARGV[5] ~= '1' and not call('SET', P .. 'stalled-check', ARGV[1], 'PX', ARGV[3], 'NX') then
  return { 0 }
end

local active_key, stalled_key, events_key = P .. 'active', P .. 'stalled', P .. 'events'
call('XTRIM', events_key, 'MAXLEN', '~', max_len_events(P))

local active = call('LRANGE', active_key, 0, -1)
local index_of = {}
for index = #active, 1, -1 do
  index_of[active[index]] = index
end

-- Candidates are judged in chunks, so that a pass with many stalled jobs reads only as many locks as this call can act on.
local candidates = call('SMEMBERS', stalled_key)
local recovered = {}
local more = 0
local judged = 0
while judged < #candidates and more == 0 do
  local last = math.min(judged + 1000, #candidates)
  local lock_keys = {}
  for n = judged + 1, last do
    lock_keys[n - judged] = P .. candidates[n] .. ':lock'
  end
  for _, lock in ipairs(call('MGET', unpack(lock_keys))) do
    local id = candidates[judged + 1]
    if not lock and index_of[id] then
      if #recovered >= limit then
        more = 1
        break
      end
      recovered[#recovered + 1] = id
    end
    judged = judged + 1
  end
end

if more == 0 then
  call('DEL', stalled_key)
else
  for first = 1, judged, 1000 do
    call('SREM', stalled_key, unpack(candidates, first, math.min(first + 999, judged)))
  end
end
active = remove_from_list(active_key, active, index_of, recovered)

local target, blocked = get_target(P)
for _, id in ipairs(recovered) do
  local job_key = P .. id
  -- A scheduler's job is exempt: failing it for its worker's crashes would end the series.
  if call('HINCRBY', job_key, 'stc', 1) > max_stalled_count and not is_repeated(job_key) then
    call('HSET', job_key, 'defa', 'job stalled more than allowable limit')
  end
  call('XADD', events_key, '*', 'event', 'waiting', 'jobId', id, 'prev', 'active')
  call('XADD', events_key, '*', 'event', 'stalled', 'jobId', id)
end
for first = 1, #recovered, 1000 do
  call('RPUSH', target, unpack(recovered, first, math.min(first + 999, #recovered)))
end
if #recovered > 0 then
  add_marker(P, blocked)
end

if more == 0 then
  for first = 1, #active, 1000 do
    call('SADD', stalled_key, unpack(active, first, math.min(first + 999, #active)))
  end
end

table.insert(recovered, 1, more)
return recovered
