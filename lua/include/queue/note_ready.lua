-- The jobs that have become ready in this call: their ids, by the prefix of their queue's keys; see fan_out_noted.
local ready = {}

local function note_ready(P, id)
  local ids = ready[P] or {}
  ready[P] = ids
  ids[#ids + 1] = id
end
