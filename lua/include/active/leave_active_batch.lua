--- @include rewrite_end
-- Many jobs leave active together. They are found before anything is written, and leave when everything else is done.

-- Reads the old end of active, where the jobs that finish usually are. If `ids` are not all there, it reads a longer
-- part. A single id is not read but searched for.
local function find_in_active(P, ids)
  local wanted = #ids
  local leaving = {
    key = P .. 'active',
    part = {}, count = {}, -- the ids that were read, and how often each is still there
    whole = wanted == 0, -- all of active was read
    few = wanted < 16, ids = {}, -- with few jobs: those that leave
    far = {}, -- those that leave and are not in the part that was read
  }
  if wanted < 2 then
    return leaving
  end
  for _, length in ipairs({ math.floor(1.5 * wanted) + 8, 16 * wanted }) do
    local part, count = call('LRANGE', leaving.key, -length, '-1'), {}
    for i = 1, #part do
      local id = part[i]
      count[id] = (count[id] or 0) + 1
    end
    leaving.part, leaving.count, leaving.whole = part, count, #part < length
    local found = 0
    while found < wanted and count[ids[found + 1]] do
      found = found + 1
    end
    if leaving.whole or found == wanted or leaving.few then
      break
    end
  end
  return leaving
end

-- Whether this id is in active once more, and notes that one leaves. An id may occur in active and in a call more than
-- once.
local function take_from_active(leaving, id)
  local count = leaving.count
  local n = count[id]
  if n and n > 0 then
    count[id] = n - 1
  elseif leaving.whole then
    return false
  else
    local far, before = leaving.far, 0 -- occurrences of the same id nearer the tail, which leave already
    for i = 1, n and #leaving.part or 0 do
      before = before + (leaving.part[i] == id and 1 or 0)
    end
    for i = 1, #far do
      before = before + (far[i] == id and 1 or 0)
    end
    if not call('LPOS', leaving.key, id, 'RANK', before == 0 and '-1' or -before - 1) then
      return false
    end
    far[#far + 1] = id
    return true
  end
  if leaving.few then
    leaving.ids[#leaving.ids + 1] = id
  end
  return true
end

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
