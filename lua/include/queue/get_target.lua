-- The list for a job with priority 0, and whether workers must not be woken for it.
-- Returns list key, blocked, settings. settings are the meta fields { paused, concurrency, max, duration,
-- opts.maxLenEvents, ext:compat, version }: concurrency (whole), max (whole, at least 1) and duration (whole ms) are
-- numbers, or false if absent or not usable (any client may write them); the next one is for max_len_events, the last
-- two are for follows_6.
-- `known` are settings that the same script has read before: they cannot have changed.
-- Every script that includes anything declares `local call = redis.call` first.
local function get_target(P, known)
  local settings = known
  if not settings then
    settings = call('HMGET', P .. 'meta', 'paused', 'concurrency', 'max', 'duration', 'opts.maxLenEvents',
      'ext:compat', 'version')
    if settings[2] or settings[3] or settings[4] then
      for i = 2, 4 do
        local number = settings[i] and tonumber(settings[i])
        settings[i] = number == number and number -- NaN is not equal to itself
      end
      -- As in BullMQ: a fraction of a limit lets one more job through, and one below 1 lets one through per duration,
      -- whose sign and fraction do not matter.
      settings[2] = settings[2] and math.ceil(settings[2])
      settings[3] = settings[3] and math.max(math.ceil(settings[3]), 1)
      settings[4] = settings[4] and math.abs(settings[4]) <= 9007199254740991 and math.floor(math.abs(settings[4]))
    end
  end
  if settings[1] then
    --- @include follows_6
    -- Where a client of 5 has parked jobs, its resume writes that list over `wait`; that of 6 joins the two.
    return P .. (follows_6(P, settings) and call('EXISTS', P .. 'paused') == 0 and 'wait' or 'paused'), true, settings
  end
  local concurrency = settings[2]
  if concurrency and call('LLEN', P .. 'active') >= concurrency then
    return P .. 'wait', true, settings
  end
  return P .. 'wait', false, settings
end
