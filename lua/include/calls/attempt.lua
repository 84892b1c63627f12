-- Runs `steps` and returns what they return. When Redis refuses one of their commands, `undo` takes back what was done, and
-- the error goes on.
local function attempt(steps, undo)
  local done, first, second = pcall(steps)
  if not done then
    undo()
    error(first, 0)
  end
  return first, second
end
