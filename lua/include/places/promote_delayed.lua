-- Moves delayed jobs that are due, at most `limit` (1000), to `target` or prioritized. Returns their ids, or nil if
-- there are none.
local function promote_delayed(P, now, target, blocked, limit)
  local delayed = P .. 'delayed'
  local first = call('ZRANGE', delayed, '0', '0', 'WITHSCORES')[2]
  local last = (now + 1) * 4096 - 1
  if not first or tonumber(first) > last then
    return
  end
  --- @include promote_ids
  local due = call('ZRANGEBYSCORE', delayed, '-inf', last, 'LIMIT', '0', limit or '1000')
  promote_ids(P, due, target, blocked)
  return due
end
