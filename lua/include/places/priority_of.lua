-- A job's priority, from its field: what is no finite number counts as 0.
local function priority_of(value)
  local priority = tonumber(value)
  return priority and priority - priority == 0 and priority or 0
end
