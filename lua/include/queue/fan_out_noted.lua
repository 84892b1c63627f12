--- @include get_target
--- @include fan_out
-- Wakes a worker for each job of note_ready, in the queue of each.
local function fan_out_noted(ready)
  for P, ids in pairs(ready) do
    local _, blocked = get_target(P)
    fan_out(P, blocked, ids)
  end
end
