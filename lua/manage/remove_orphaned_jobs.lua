-- Removes jobs that are in no list or set of the queue: they can neither run nor be found.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id... (candidates; the cost is their number times the length of the lists)
-- Returns how many of them were removed
-- Events  waiting (jobId, prev=waiting-children) for a parent that loses its last dependency
local call = redis.call
--- @include discard_job
local P = string.sub(KEYS[1], 1, -5)

local function is_held(id)
  for _, set in ipairs({ 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children' }) do
    if call('ZSCORE', P .. set, id) then
      return true
    end
  end
  for _, list in ipairs({ 'active', 'wait', 'paused' }) do
    if call('LPOS', P .. list, id) then
      return true
    end
  end
  return false
end

-- Whether a key is a job's: other hashes have none of these fields. Ids with a colon are those of scheduler jobs and
-- custom ids; such a job has a timestamp, a scheduler's hash has none.
local function is_job(id, job_key)
  local kind = call('TYPE', job_key).ok
  if kind ~= 'hash' then
    return kind == 'none'
  elseif string.find(id, ':', 1, true) then
    return call('HEXISTS', job_key, 'timestamp') == 1
  end
  local fields = { 'timestamp', 'opts', 'atm', 'ats', 'delay', 'progress', 'processedOn', 'finishedOn', 'stc' }
  for _, value in ipairs(call('HMGET', job_key, unpack(fields))) do
    if value then
      return true
    end
  end
  return false
end

local removed = 0
for _, id in ipairs(ARGV) do
  local job_key = P .. id
  if not is_held(id) and is_job(id, job_key) then
    removed = removed + math.min(discard_job(P, id, false) + call('DEL', job_key .. ':lock'), 1)
  end
end
return reply_or_error(removed)
