-- Moves delayed jobs that are due, at most `limit` (1000), to `target` or prioritized. Returns their ids, or nil if
-- there are none; then also the score of the first delayed job, or false. `first` is this score if the same script has
-- read it and no job has been delayed since; nil = not known.
local function promote_delayed(P, now, target, blocked, limit, first)
  local delayed = P .. 'delayed'
  if first == nil then
    first = call('ZRANGE', delayed, '0', '0', 'WITHSCORES')[2] or false
  end
  local last = (now + 1) * 4096 - 1
  if not first or tonumber(first) > last then
    return nil, first
  end
  --- @include promote_ids
  local due = call('ZRANGEBYSCORE', delayed, '-inf', last, 'LIMIT', '0', limit or '1000')
  promote_ids(P, due, target, blocked)
  return due
end
