-- Sets one marker per job that has become ready, except for the first: each wakes one more idle worker, at once and not
-- one after another. The first has the marker of add_marker, which must be set before. Other clients read only the
-- score of a marker.
-- `ids` name the jobs, so that the markers of several producers add up. The key never holds more than 256 markers, the
-- one for delayed jobs included. None are set while the queue is paused or at its global concurrency (`blocked`).
-- An error is ignored: without these markers workers wake one after another.
local function fan_out(P, blocked, ids)
  if blocked or #ids < 2 then
    return
  end
  local key = P .. 'marker'
  local set = redis.pcall('ZCOUNT', key, '0', '0')
  local members = {}
  for i = 1, math.min(#ids - 1, type(set) == 'number' and 255 - set or 0) do
    members[2 * i - 1], members[2 * i] = '0', 'w:' .. ids[i + 1]
  end
  if members[1] then
    redis.pcall('ZADD', key, unpack(members))
  end
end
