--- @include rewrite_end
-- Takes the noted jobs out of active, the occurrences nearest the tail first. A few are searched for. For many, the
-- part of the list that was read is written again without them: from three jobs on this is less commands.
local function leave_active_batch(leaving)
  local part, count, kept, size = leaving.part, leaving.count, {}, 0
  local before = #part
  for i = 1, before do -- from the head, so that the occurrences that stay are the first ones
    local id = part[i]
    local n = count[id]
    if n > 0 then
      count[id] = n - 1
      size = size + 1
      kept[size] = id
    end
  end
  for i = 1, #leaving.far do
    call('LREM', leaving.key, '-1', leaving.far[i])
  end
  if leaving.few and size > 0 and #leaving.ids < 3 then
    for i = 1, #leaving.ids do
      call('LREM', leaving.key, '-1', leaving.ids[i])
    end
  elseif size < before then
    rewrite_end(leaving.key, before, kept)
  end
end
