-- How the ids of a state are stored ('list' or 'zset', nil if there is no such state), and the name of the key.
local function state_kind(state)
  if state == 'waiting' then
    return 'list', 'wait'
  elseif state == 'wait' or state == 'paused' or state == 'active' then
    return 'list', state
  elseif
    state == 'prioritized'
    or state == 'delayed'
    or state == 'completed'
    or state == 'failed'
    or state == 'waiting-children'
    or state == 'repeat'
  then
    return 'zset', state
  end
end
