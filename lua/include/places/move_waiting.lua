--- @include move_jobs
-- The list or set in which a job waits to be fetched: key, and whether it is a set; nil if it is in none. Version 6 keeps the
-- jobs of a paused queue in `wait`, so both lists are searched.
local function find_waiting(P, id)
  for _, name in ipairs({ 'delayed', 'prioritized' }) do
    if call('ZSCORE', P .. name, id) then
      return P .. name, true
    end
  end
  for _, name in ipairs({ 'wait', 'paused' }) do
    if call('LPOS', P .. name, id, 'RANK', '-1') then
      return P .. name, false
    end
  end
end

-- Moves a job from where it waits (find_waiting's) to another place, or within it.
local function move_waiting(id, from, is_set, place)
  move_jobs({ place }, function()
    if not is_set then
      -- In the same list, the job that has just been pushed stays.
      call('LREM', from, from == place.key and place.push == 'RPUSH' and 1 or -1, id)
    elseif from ~= place.key then
      call('ZREM', from, id)
    end
  end)
end
