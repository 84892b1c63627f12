--- @include call_many
-- Leaves as many of each id in the older part of active as `left` says; of several the ones nearest the tail go, as with
-- LREM -1. `left` and `part` come from count_active.
local function rewrite_active(P, left, part)
  local kept, size = {}, 0
  local before = #part
  for i = 1, before do -- from the head, so that the ones that stay are the first
    local id = part[i]
    local n = left[id]
    if n > 0 then
      left[id] = n - 1
      size = size + 1
      kept[size] = id
    end
  end
  if size < before then
    call('LTRIM', P .. 'active', '0', -before - 1)
    call_many('RPUSH', P .. 'active', kept)
  end
end
