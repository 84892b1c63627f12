--- @include enter_place
-- Puts new jobs with equal options in their place, in order: N jobs in one call leave what N calls leave. Returns the
-- place. `due` is in ms, false for jobs that may run now. The caller adds events and markers. `except` as for
-- delayed_score.
local function place_jobs(P, target, ids, due, priority, lifo, except)
  local place
  if due then
    --- @include delayed_score
    local score, last = delayed_score(P, tonumber(due), except)
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
