--- @include call_many
-- The ids of the jobs of a call that were not refused.
local function accepted_ids(batch)
  local accepted, refused, next_refused = {}, batch.refused, 1
  for index, id in ipairs(batch.ids) do
    if refused[next_refused] == index - 1 then
      next_refused = next_refused + 2
    else
      accepted[#accepted + 1] = id
    end
  end
  return accepted
end

-- Appends ids to the list of the worker's run. The list lives for 7 days after its last job.
local function list_in_run(batch, ids)
  call_many('RPUSH', batch.run_list, ids)
  for i = 1, #ids do
    batch.listed[#batch.listed + 1] = ids[i]
  end
  call('EXPIRE', batch.run_list, '604800')
end
