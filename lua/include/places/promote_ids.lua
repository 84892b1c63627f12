--- @include add_marker
--- @include move_jobs
--- @include on_hash
--- @include priority_of
-- Moves delayed jobs with these ids (at most 1000), in this order, to `target` or prioritized.
local function promote_ids(P, ids, target, blocked)
  local plain = { key = target, push = 'LPUSH', ids = {} }
  local ranked = { key = P .. 'prioritized', counter = P .. 'pc', priorities = {}, ids = {} }
  for _, id in ipairs(ids) do
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
    call('ZREM', P .. 'delayed', unpack(ids))
  end)
  for _, id in ipairs(ids) do
    call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
  end
end
