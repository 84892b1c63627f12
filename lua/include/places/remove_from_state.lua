--- @include remove_from_list
-- Take an id out of the list or set that holds it; returns that key's name, or 'unknown'. Ends with remove_noted.
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
