--- Holds limits for all: nobody takes a grant of them for a while.
--- KEYS[1] <prefix>:<queue>:meta, as for take: <prefix>::meta or <prefix>:{tag}:meta
--- ARGV    ms, then per limit: name, key
--- Returns how many of them somebody has set: the others are not held. A hold never becomes shorter.
--- Events  none
local call = redis.call
--- @include read_limits

local P, ms = string.sub(KEYS[1], 1, -5), tonumber(ARGV[1])
if not ms or ms < 1 or #ARGV % 2 ~= 1 then
  return redis.error_reply('ERR hold: malformed arguments')
end
local limits = read_limits(P, ARGV, 2, 2)
for _, limit in ipairs(limits) do
  if call('PTTL', limit.base .. 'hold') < ms then
    call('SET', limit.base .. 'hold', '1', 'PX', ms)
  end
end
return #limits
