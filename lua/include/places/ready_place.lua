-- The place of one job that may run now (see enter_place): an end of the waiting list, or among the prioritized.
local function ready_place(P, id, priority, push, target)
  if priority == 0 then
    return { ids = { id }, key = target, push = push }
  end
  return { ids = { id }, key = P .. 'prioritized', counter = P .. 'pc', priorities = { priority } }
end
