-- The number of workers that may wake, of what `ext:hint` holds (any program may have written it): whole, at most 1024;
-- nil if it is no number.
local function read_wake_hint(stored)
  local value = stored and tonumber(stored)
  if value and value == value then -- NaN is not equal to itself
    return math.floor(math.max(math.min(value, 1024), -1))
  end
end
