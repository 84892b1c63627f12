-- Take a job that has not been fetched out of its place; returns whether it was in one. Version 6 keeps the jobs of a paused
-- queue in `wait`, so both lists are searched.
local function take_waiting(P, id)
  return call('ZREM', P .. 'delayed', id) == 1 or call('ZREM', P .. 'prioritized', id) == 1
    or call('LREM', P .. 'wait', 1, id) == 1 or call('LREM', P .. 'paused', 1, id) == 1
end
