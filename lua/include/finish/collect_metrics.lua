-- Adds `finished` jobs of one call to the per-minute series of metrics:<target>. A batch finishes at one moment, so
-- only its first job can end a minute.
local function collect_metrics(P, target, now, max_points, finished)
  local key = P .. 'metrics:' .. target
  local before = call('HINCRBY', key, 'count', finished) - finished
  local previous = call('HMGET', key, 'prevTS', 'prevCount')
  if not previous[1] then
    call('HSET', key, 'prevTS', now, 'prevCount', '0')
    return
  end
  local minutes = math.min(math.floor(now / 60000) - math.floor(previous[1] / 60000), max_points)
  if minutes <= 0 then
    return
  end
  local series = key .. ':data'
  call('LPUSH', series, before - (previous[2] or 0))
  for _ = 2, minutes do
    call('LPUSH', series, '0')
  end
  call('LTRIM', series, 0, max_points - 1)
  call('HSET', key, 'prevCount', before, 'prevTS', now)
end
