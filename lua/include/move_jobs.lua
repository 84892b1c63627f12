--- @include attempt
--- @include call_many
-- Places of jobs. A place is, for its `ids`: { key, push = 'LPUSH' or 'RPUSH' } in a list, { key, scores } in a sorted set,
-- or { key, counter, priorities } behind all jobs of the same priority, where a fresh value of the counter breaks the tie.
local POP = { LPUSH = 'LPOP', RPUSH = 'RPOP' }

local function enter(place)
  local ids, scores = place.ids, place.scores
  local size = #ids
  if place.push then
    return call_many(place.push, place.key, ids)
  elseif place.priorities then
    local counter = call('INCRBY', place.counter, size) - size
    scores = {}
    for i = 1, size do
      scores[i] = place.priorities[i] * 4294967296 + (counter + i) % 4294967296
    end
  end
  local members = {}
  for i = 1, size do
    members[2 * i - 1], members[2 * i] = scores[i], ids[i]
  end
  call_many('ZADD', place.key, members)
end

-- Takes back the last `enter` of this call, by other commands than those by which jobs leave a place: one of these may be what
-- Redis refuses.
local function retreat(place)
  if place.push then
    return call(POP[place.push], place.key, #place.ids)
  end
  for _, id in ipairs(place.ids) do
    local rank = call('ZRANK', place.key, id)
    if rank then
      call('ZREMRANGEBYRANK', place.key, rank, rank)
    end
  end
end

-- Where one job goes that may run now: to one end of the waiting list, or among the prioritized.
local function ready_place(P, id, priority, push, target)
  if priority == 0 then
    return { ids = { id }, key = target, push = push }
  end
  return { ids = { id }, key = P .. 'prioritized', counter = P .. 'pc', priorities = { priority } }
end

-- Moves jobs so that each is in one place whatever Redis refuses: they enter the new places, and then `leave` takes them out
-- of the old one. If one of these steps is refused, those before it are taken back.
local function move_jobs(places, leave)
  local entered = 0
  attempt(function()
    for i = 1, #places do
      enter(places[i])
      entered = i
    end
    leave()
  end, function()
    for i = entered, 1, -1 do
      retreat(places[i])
    end
  end)
end
