--- @include call_many
-- Leaves as many of each id in active as `left` says; of several the ones nearest the tail go, as with LREM -1.
-- `left` and `ids` come from count_active.
local function rewrite_active(P, left, ids)
  local kept, size = {}, 0
  local before = #ids
  for i = 1, before do -- from the head, so that the ones that stay are the first
    local id = ids[i]
    local n = left[id]
    if n > 0 then
      left[id] = n - 1
      size = size + 1
      kept[size] = id
    end
  end
  if size < before then
    call('DEL', P .. 'active')
    call_many('RPUSH', P .. 'active', kept)
  end
end
