--- @include call_many
-- Puts jobs in a place. A place has `ids` and: { key, push = 'LPUSH' or 'RPUSH' } in a list, { key, scores } in a
-- sorted set, or { key, counter, priorities } in a sorted set behind all jobs of the same priority (the counter orders
-- equal priorities).
local function enter_place(place)
  local ids, scores = place.ids, place.scores
  if place.push then
    return call_many(place.push, place.key, ids)
  end
  local size, members, counter = #ids, {}, 0
  if place.priorities then
    counter = call('INCRBY', place.counter, size) - size
  end
  for i = 1, size do
    members[2 * i - 1] = scores and scores[i] or place.priorities[i] * 4294967296 + (counter + i) % 4294967296
    members[2 * i] = ids[i]
  end
  call_many('ZADD', place.key, members)
end
