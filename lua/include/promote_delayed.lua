--- @include add_marker
--- @include push_prioritized
-- Moves due delayed jobs, at most 1000 per call, to where workers take them.
local function promote_delayed(P, now, target, blocked)
  local delayed = P .. 'delayed'
  local first = call('ZRANGE', delayed, '0', '0', 'WITHSCORES')[2]
  local last = (now + 1) * 4096 - 1
  if not first or tonumber(first) > last then
    return
  end
  local due = call('ZRANGEBYSCORE', delayed, '-inf', last, 'LIMIT', '0', '1000')
  call('ZREM', delayed, unpack(due))
  local events = P .. 'events'
  local plain = {}
  for _, id in ipairs(due) do
    local job_key = P .. id
    local priority = tonumber(call('HGET', job_key, 'priority')) or 0
    if priority == 0 then
      plain[#plain + 1] = id
    else
      push_prioritized(P, id, priority)
    end
    call('XADD', events, '*', 'event', 'waiting', 'jobId', id, 'prev', 'delayed')
    call('HSET', job_key, 'delay', '0')
  end
  if plain[1] then
    call('LPUSH', target, unpack(plain))
  end
  add_marker(P, blocked)
end
