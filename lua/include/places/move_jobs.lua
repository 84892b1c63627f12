--- @include enter_place
-- Moves jobs so that each is in one place whatever Redis refuses: they enter the new places, and then `leave` takes them out
-- of the old one. If one of these steps is refused, those before it are taken back, and the error goes on.
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
