--- @include remove_from_list
-- Removes an id from the list or set that has it; returns the name of that key, or 'unknown'. The script calls
-- remove_noted at its end.
local function remove_from_state(P, id)
  for _, set in ipairs({ 'completed', 'waiting-children', 'delayed', 'failed', 'prioritized' }) do
    if call('ZREM', P .. set, id) == 1 then
      return set
    end
  end
  for _, list in ipairs({ 'wait', 'paused' }) do
    if remove_from_list(P .. list, id) then
      return list
    end
  end
  return call('LREM', P .. 'active', 1, id) == 1 and 'active' or 'unknown'
end
