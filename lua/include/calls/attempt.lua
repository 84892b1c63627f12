-- Runs `steps` and returns its results. If Redis refuses one of the commands, `undo` takes back what was done, and the
-- error is raised again.
local function attempt(steps, undo)
  local done, first, second = pcall(steps)
  if not done then
    undo()
    error(first, 0)
  end
  return first, second
end
