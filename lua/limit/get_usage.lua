--- Reads how much of limits is used.
--- KEYS[1] <prefix>:<queue>:meta, as for take: <prefix>::meta or <prefix>:{tag}:meta
--- ARGV    now ("" = the time of the server), then per limit: name, key
--- Returns per limit { settings as JSON ("" = nobody has set it), ms for which it is held, holders, used... }, `used` in
---         the order of the rates. A holder that has died, or a slot that is over, may be counted until somebody takes.
--- Events  none
local call = redis.call
--- @include server_time

local P, found = string.sub(KEYS[1], 1, -5), {}
if not ARGV[1] or #ARGV % 2 ~= 1 then
  return redis.error_reply('ERR get_usage: malformed arguments')
end
local now = server_time(ARGV[1])
for at = 2, #ARGV, 2 do
  local text = call('HGET', P .. 'ext:limits', ARGV[at])
  local base = P .. 'ext:limit-' .. ARGV[at + 1] .. ':'
  local usage = { text or '', math.max(call('PTTL', base .. 'hold'), 0), call('ZCARD', base .. 'held') }
  for _, rate in ipairs(text and cjson.decode(text).rates or {}) do
    local known = call('HMGET', base .. string.format('%d', rate[2]), 'used', 'last')
    local is_over = (tonumber(known[2]) or 0) + rate[2] < now
    usage[#usage + 1] = is_over and 0 or tonumber(known[1]) or 0
  end
  found[#found + 1] = usage
end
return found
