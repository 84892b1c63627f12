-- Whether a job is still as somebody has seen it: in this state, finished at this time ("" if it has not finished). Returns
-- 0; -1 no such job; -3 it is not. The lists of jobs that wait may be long, so a job waits if it is nowhere else.
local function check_seen(P, id, state, finished_on)
  local job_key = P .. id
  if call('EXISTS', job_key) == 0 then
    return -1
  end
  local found = 'waiting'
  for _, set in ipairs({ 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children' }) do
    if call('ZSCORE', P .. set, id) then
      found = set
    end
  end
  if found == 'waiting' and call('LPOS', P .. 'active', id) then
    found = 'active'
  end
  local is_same = found == state and (call('HGET', job_key, 'finishedOn') or '') == finished_on
  return is_same and 0 or -3
end
