-- A job's priority as a number; a field that is no finite number counts as 0.
local function priority_of(value)
  local priority = tonumber(value)
  return priority and priority - priority == 0 and priority or 0
end
