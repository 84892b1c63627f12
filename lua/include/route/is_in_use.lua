-- For so many ms a route that retires, or whose keys go, has had no event.
local IDLE = 600000

-- Whether a route has unfinished jobs, a parent that waits for its children or a scheduler, or is paused or limited,
-- which nobody else would know; nil if its keys cannot be read.
local function is_in_use(R)
  local open = redis.pcall(
    'EXISTS', R .. 'wait', R .. 'paused', R .. 'prioritized', R .. 'delayed', R .. 'active', R .. 'waiting-children', R .. 'repeat'
  )
  if open ~= 0 then
    return type(open) == 'number' or nil
  end
  local settings = redis.pcall('HMGET', R .. 'meta', 'paused', 'concurrency', 'max', 'duration')
  if settings.err then
    return nil
  end
  return (settings[1] or settings[2] or settings[3] or settings[4]) ~= false
end

-- Whether a route has no finished job either.
local function is_empty(R)
  return redis.pcall('EXISTS', R .. 'completed', R .. 'failed') == 0
end

-- The time of the newest event of a route in ms, 0 without any; nil if it cannot be read.
local function newest_event(R)
  local newest = redis.pcall('XREVRANGE', R .. 'events', '+', '-', 'COUNT', '1')
  if newest.err then
    return nil
  end
  return newest[1] and tonumber(string.match(newest[1][1], '^%d+')) or 0
end
