-- When so much of what was used leaves the window. More may be used than the slots say, after a call that was stopped:
-- that is over with the last slot.
local function free_at(key, rate, wanted)
  local at, last = 0, 0
  while true do
    local slots = call('LRANGE', key .. ':slots', at, at + 99)
    if #slots == 0 then
      return last + rate[2] + 1
    end
    for i, cost in ipairs(call('HMGET', key, unpack(slots))) do
      wanted = wanted - (tonumber(cost) or 0)
      if wanted <= 0 then
        return tonumber(slots[i]) + rate[2] + 1
      end
    end
    at, last = at + #slots, tonumber(slots[#slots])
  end
end
