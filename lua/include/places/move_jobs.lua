--- @include enter_place
--- @include undo_enter
-- Moves jobs so that each is in exactly one place also after an error: they enter the new places, then `leave` takes
-- them out of the old one. If a step is refused, the steps before it are taken back, and the error is raised again.
local function move_jobs(places, leave)
  local entered = 0
  local done, failed = pcall(function()
    for i = 1, #places do
      enter_place(places[i])
      entered = i
    end
    leave()
  end)
  if not done then
    for i = entered, 1, -1 do
      undo_enter(places[i])
    end
    error(failed, 0)
  end
end
