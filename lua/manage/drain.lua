-- Remove all jobs that wait to run; running, finished and (unless asked) delayed jobs stay, as do the schedulers' next jobs.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    delayed (1 = delayed jobs as well)
-- Returns 0
-- Events  none
local call = redis.call
--- @include discard_job
--- @include is_scheduled
local P = string.sub(KEYS[1], 1, -5)

-- Removes each id's keys; returns the ids that were removed and those that a scheduler still needs.
local function discard(ids)
  local removed, kept = {}, {}
  for _, id in ipairs(ids) do
    if string.sub(id, 1, 7) == 'repeat:' and is_scheduled(P, id, call('HGET', P .. id, 'rjk')) then
      kept[#kept + 1] = id
    else
      discard_job(P, id)
      removed[#removed + 1] = id
    end
  end
  return removed, kept
end

for _, list in ipairs({ 'wait', 'paused' }) do
  local list_key = P .. list
  local remaining = {}
  repeat
    local ids = call('LRANGE', list_key, 0, 999)
    call('LTRIM', list_key, #ids, -1)
    local _, kept = discard(ids)
    for _, id in ipairs(kept) do
      remaining[#remaining + 1] = id
    end
  until #ids == 0
  for first = 1, #remaining, 1000 do
    call('RPUSH', list_key, unpack(remaining, first, math.min(first + 999, #remaining)))
  end
end

for _, set in ipairs(ARGV[1] == '1' and { 'prioritized', 'delayed' } or { 'prioritized' }) do
  local set_key = P .. set
  local skipped = 0
  repeat
    local ids = call('ZRANGE', set_key, skipped, skipped + 999)
    local removed, kept = discard(ids)
    if #removed > 0 then
      call('ZREM', set_key, unpack(removed))
    end
    skipped = skipped + #kept
  until #ids == 0
end
return 0
