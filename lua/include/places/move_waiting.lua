--- @include move_jobs
-- The list or set in which a job waits: its key, and whether it is a sorted set; nil if there is none. Version 6 keeps
-- the jobs of a paused queue in `wait`, so both lists are searched.
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

-- Moves a waiting job to another place, or within its place. `from`, `is_set` are the results of find_waiting.
local function move_waiting(id, from, is_set, place)
  move_jobs({ place }, function()
    if not is_set then
      -- In the same list, the occurrence that has just been pushed stays.
      call('LREM', from, from == place.key and place.push == 'RPUSH' and 1 or -1, id)
    elseif from ~= place.key then
      call('ZREM', from, id)
    end
  end)
end
