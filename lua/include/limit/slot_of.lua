-- The last ms of the slot in which a time is counted, and how long such a slot is. With at most 1,000 in a window each
-- ms is a slot of its own, so the limit is exact; else a window has 100 slots.
local function slot_of(most, window, now)
  local width = most > 1000 and math.ceil(window / 100) or 1
  return math.floor(now / width) * width + width - 1, width
end
