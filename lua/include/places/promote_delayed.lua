-- Moves delayed jobs that are due, at most `limit` (1000), to `target` or prioritized. Returns their ids, or nil if
-- there are none.
local function promote_delayed(P, now, target, blocked, limit)
  local delayed = P .. 'delayed'
  local first = call('ZRANGE', delayed, '0', '0', 'WITHSCORES')[2]
  local last = (now + 1) * 4096 - 1
  if not first or tonumber(first) > last then
    return
  end
  --- @include add_marker
  --- @include move_jobs
  --- @include on_hash
  --- @include priority_of
  local due = call('ZRANGEBYSCORE', delayed, '-inf', last, 'LIMIT', '0', limit or '1000')
  local plain = { key = target, push = 'LPUSH', ids = {} }
  local ranked = { key = P .. 'prioritized', counter = P .. 'pc', priorities = {}, ids = {} }
  for _, id in ipairs(due) do
    local job_key = P .. id
    local field = on_hash('HGET', job_key, 'priority')
    local priority = priority_of(field)
    if field or (on_hash('HLEN', job_key) or 0) > 0 then -- an id without a hash is no job: the fetch drops it
      on_hash('HSET', job_key, 'delay', '0')
    end
    if priority == 0 then
      plain.ids[#plain.ids + 1] = id
    else
      ranked.ids[#ranked.ids + 1], ranked.priorities[#ranked.ids + 1] = id, priority
    end
  end
  local places = {}
  for _, place in ipairs({ ranked, plain }) do
    if place.ids[1] then
      places[#places + 1] = place
    end
  end
  add_marker(P, blocked) -- first, since a marker without a job does no harm
  move_jobs(places, function()
    call('ZREM', delayed, unpack(due))
  end)
  for _, id in ipairs(due) do
    call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
  end
  return due
end
