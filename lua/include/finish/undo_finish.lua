-- Takes back what a stopped call did for jobs that are still active: their events and their places in the finished
-- sets.
local function undo_finish(P, batch)
  local active, events = batch.leaving.key, P .. 'events'
  local outcomes = { completed = true, failed = true, ['retries-exhausted'] = true }
  for _, entry in ipairs(batch.first_event and redis.pcall('XRANGE', events, batch.first_event, '+') or {}) do
    local fields = entry[2] -- event, its name, jobId, the id
    if outcomes[fields[2]] and call('LPOS', active, fields[4]) then
      redis.pcall('XDEL', events, entry[1])
    end
  end
  for _, set in ipairs(batch.entered) do
    for i = 2, #set[2], 2 do
      if call('LPOS', active, set[2][i]) then
        call('ZREM', set[1], set[2][i])
      end
    end
  end
end
