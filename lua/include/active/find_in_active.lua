-- Many jobs leave active together. They are found before anything is written, and leave when everything else is done.

-- Reads the old end of active, where the jobs that finish usually are. If `ids` are not all there, it reads a longer
-- part. A single id is not read but searched for.
local function find_in_active(P, ids)
  local wanted = #ids
  local none = {} -- of a single id nothing is read, so nothing is noted here: one table is cheaper than three
  local leaving = {
    key = P .. 'active',
    part = none, count = none, -- the ids that were read, and how often each is still there
    whole = wanted == 0, -- all of active was read
    few = wanted < 16, ids = wanted < 2 and none or {}, -- with few jobs: those that leave
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
