-- When so much of what was used leaves the window.
local function free_at(key, rate, wanted)
  local at = 0
  while true do
    local slots = call('LRANGE', key .. ':slots', at, at + 99)
    if #slots == 0 then
      return 0 -- nothing is known of it: look again at once
    end
    for i, cost in ipairs(call('HMGET', key, unpack(slots))) do
      wanted = wanted - (tonumber(cost) or 0)
      if wanted <= 0 then
        return tonumber(slots[i]) + rate[2] + 1
      end
    end
    at = at + #slots
  end
end
