--- @include call_many
-- Takes back what a stopped call did for jobs that are still active: their results, their events, their places in the
-- finished sets and in the list of the worker's run.
local function undo_finish(P, batch)
  local active, events = batch.leaving.key, P .. 'events'
  if batch.unsure and not call('LPOS', active, batch.unsure.id) then
    --- @include take_back
    return take_back(P, batch)
  end
  if batch.results then
    --- @include undo_results
    undo_results(active, batch.results)
  end
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

  -- All ids of this call are at the end of the list. Those of jobs that have left active come back.
  local listed, stay = batch.listed, {}
  for i = 1, #listed do
    if not call('LPOS', active, listed[i]) then
      stay[#stay + 1] = listed[i]
    end
  end
  if #stay < #listed then
    if redis.pcall('LTRIM', batch.run_list, '0', -#listed - 1).err then
      call('RPOP', batch.run_list, #listed)
    end
    if stay[1] then
      call_many('RPUSH', batch.run_list, stay)
      redis.pcall('EXPIRE', batch.run_list, '604800')
    end
  end
end
