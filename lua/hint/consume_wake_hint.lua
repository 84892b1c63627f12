--- Asks how many jobs a worker may wake for, and takes them from the number that producers have provided.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    want (whole, at least 1)
--- Returns at most `want`; 0: enough workers are awake. 1 if nothing tells the number: it is absent, has run out of
---         time, is no number, or its key is of another type. The remaining time does not change.
--- Events  none
local call = redis.call
--- @include read_wake_hint

local key = string.sub(KEYS[1], 1, -5) .. 'ext:hint'
local want = tonumber(ARGV[1])
if not want or want < 1 then
  return redis.error_reply('ERR consume_wake_hint: malformed arguments')
end
local stored = redis.pcall('GET', key)
if type(stored) == 'table' then
  if not string.find(stored.err, 'WRONGTYPE', 1, true) then
    return stored
  end
  stored = nil
end
local value = read_wake_hint(stored)
if not value then
  return 1
end
local granted = math.max(math.min(math.floor(want), value), 0)
if granted > 0 then
  call('SET', key, string.format('%d', value - granted), 'KEEPTTL')
end
return granted
