--- @include call_many
-- Jobs that leave active together: they are looked for before anything is written, and leave when all else is done.

-- Reads the older part of active, where what a worker finishes mostly is: it took that first. Rather all of `ids` than less.
local function read_leaving(P, ids)
  local wanted = #ids
  local leaving = { key = P .. 'active', few = wanted < 16, ids = {} }
  for _, length in ipairs({ math.floor(1.5 * wanted) + 8, 16 * wanted }) do
    local part, count = call('LRANGE', leaving.key, -length, '-1'), {}
    for i = 1, #part do
      count[part[i]] = (count[part[i]] or 0) + 1
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

-- Whether one more of this id is in active, and so may leave.
local function is_leaving(leaving, id)
  local n = leaving.count[id]
  if n and n > 0 then
    leaving.count[id] = n - 1
  elseif leaving.whole then
    return false
  else
    local before = 0 -- of this id, named twice, nearer the tail
    for _, list in ipairs({ n and leaving.part or {}, leaving.far or {} }) do
      for i = 1, #list do
        before = before + (list[i] == id and 1 or 0)
      end
    end
    if not call('LPOS', leaving.key, id, 'RANK', -before - 1) then
      return false
    end
    leaving.far = leaving.far or {}
    leaving.far[#leaving.far + 1] = id
    return true
  end
  if leaving.few then
    leaving.ids[#leaving.ids + 1] = id
  end
  return true
end

-- Takes them out, of several of one id those nearest the tail. Few are searched for; of many, the part of the list that was read
-- is written anew, which costs less than a search per job.
local function leave_together(leaving)
  local part, kept, size = leaving.part, {}, 0
  local before = #part
  for i = 1, before do -- from the head, so that the ones that stay are the first
    local id = part[i]
    local n = leaving.count[id]
    if n > 0 then
      leaving.count[id] = n - 1
      size = size + 1
      kept[size] = id
    end
  end
  for _, id in ipairs(leaving.far or {}) do
    call('LREM', leaving.key, '-1', id)
  end
  if size == 0 and before > 0 then
    call('LTRIM', leaving.key, '0', -before - 1)
  elseif leaving.few then
    for i = 1, #leaving.ids do
      call('LREM', leaving.key, '-1', leaving.ids[i])
    end
  elseif size < before then
    call('LTRIM', leaving.key, '0', -before - 1)
    if not pcall(call_many, 'RPUSH', leaving.key, kept) then
      call_many('LPUSH', leaving.key, kept) -- whoever may not push at that end: better out of order than lost
    end
  end
end
