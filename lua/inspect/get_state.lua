-- Finds the state of a job, by the list or set that has its id.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id
-- Returns completed, failed, delayed, prioritized, active, waiting (wait or paused), waiting-children or unknown
-- Events  none
local call = redis.call
local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
for _, state in ipairs({ 'completed', 'failed', 'delayed', 'prioritized' }) do
  if call('ZSCORE', P .. state, id) then
    return state
  end
end
for _, list in ipairs({ 'active', 'wait', 'paused' }) do
  if call('LPOS', P .. list, id) then
    return list == 'active' and 'active' or 'waiting'
  end
end
if call('ZSCORE', P .. 'waiting-children', id) then
  return 'waiting-children'
end
return 'unknown'
