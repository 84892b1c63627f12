-- Take an id out of the list or set that holds it; returns that key's name, or 'unknown'.
local function remove_from_state(P, id)
  for _, set in ipairs({ 'completed', 'waiting-children', 'delayed', 'failed', 'prioritized' }) do
    if call('ZREM', P .. set, id) == 1 then
      return set
    end
  end
  for _, list in ipairs({ 'wait', 'paused', 'active' }) do
    if call('LREM', P .. list, 1, id) == 1 then
      return list
    end
  end
  return 'unknown'
end
