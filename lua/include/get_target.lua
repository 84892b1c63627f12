-- Where a job with priority 0 goes now, and whether workers must not be woken for it.
-- Returns list key, blocked, settings; settings are the meta fields
-- { paused, concurrency, max, duration, opts.maxLenEvents } (false when absent), read in one command.
-- `known` are settings read before in the same script: nobody changes them meanwhile.
-- Every script that includes anything declares `local call = redis.call` first.
local function get_target(P, known)
  local settings = known or call('HMGET', P .. 'meta', 'paused', 'concurrency', 'max', 'duration', 'opts.maxLenEvents')
  if settings[1] then
    return P .. 'paused', true, settings
  end
  local concurrency = settings[2]
  if concurrency and call('LLEN', P .. 'active') >= tonumber(concurrency) then
    return P .. 'wait', true, settings
  end
  return P .. 'wait', false, settings
end
