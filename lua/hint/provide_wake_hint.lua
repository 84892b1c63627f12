--- Adds to the number of workers that may wake for new jobs. It lives for a minute after the last call.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    count (whole, at least 1)
--- Returns the number now: at most 1024. A number that is negative, or no number, counts as 0.
--- Events  none
local call = redis.call
--- @include read_wake_hint

local key = string.sub(KEYS[1], 1, -5) .. 'ext:hint'
local count = tonumber(ARGV[1])
if not count or count < 1 then
  return redis.error_reply('ERR provide_wake_hint: malformed arguments')
end
local value = math.min(math.max(read_wake_hint(call('GET', key)) or 0, 0) + math.floor(count), 1024)
call('SET', key, string.format('%d', value), 'PX', '60000')
return value
