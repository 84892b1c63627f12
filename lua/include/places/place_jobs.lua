--- @include enter_place
--- @include delayed_score
-- Puts new jobs of one kind where workers take them, in order: N at a time leave what N adds leave. Returns the place.
-- `due` is in ms, false for jobs that may run now; events and markers are the caller's. `but` is an id that is about to leave.
local function place_jobs(P, target, ids, due, priority, lifo, but)
  local place
  if due then
    local score, last = delayed_score(P, tonumber(due), but)
    place = { ids = ids, key = P .. 'delayed', scores = {} }
    for i = 1, #ids do
      place.scores[i] = score
      score = math.min(score + 1, last)
    end
  elseif tonumber(priority) ~= 0 then
    place = { ids = ids, key = P .. 'prioritized', counter = P .. 'pc', priorities = {} }
    for i = 1, #ids do
      place.priorities[i] = priority
    end
  else
    place = { ids = ids, key = target, push = lifo and 'RPUSH' or 'LPUSH' }
  end
  enter_place(place)
  return place
end
