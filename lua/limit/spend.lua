--- Settles a grant: its slots become free. What was not used is given back; what was used beyond counts from now on.
--- KEYS[1] <prefix>:<queue>:meta, as for take: <prefix>::meta or <prefix>:{tag}:meta
--- ARGV    now ("" = the time of the server), grant, then per limit that was taken: name, key, cost that was used
--- Returns 1; 0 if the grant is settled already, or its lease is over: then nothing changes.
--- Events  none
local call = redis.call
--- @include server_time
--- @include read_limits
--- @include used_in_window
--- @include use_window

local P, grant = string.sub(KEYS[1], 1, -5), ARGV[2]
if not ARGV[1] or not grant or grant == '' or (#ARGV - 2) % 3 ~= 0 then
  return redis.error_reply('ERR spend: malformed arguments')
end
local used_of = {}
for at = 3, #ARGV, 3 do
  local cost = tonumber(ARGV[at + 2])
  if not cost or cost < 0 or cost % 1 ~= 0 then
    return redis.error_reply('ERR spend: malformed cost')
  end
  used_of[ARGV[at + 1]] = cost
end
local now, record = server_time(ARGV[1]), P .. 'ext:grant-' .. grant
local known = call('GET', record)
if not known then
  return 0
end
local limits = read_limits(P, ARGV, 3, 3)
-- The record first: a call that stops in between has given back too little at most.
call('DEL', record)
local reserved = {}
for _, entry in ipairs(cmsgpack.unpack(known)[2]) do
  if entry.held then
    call('ZREM', entry.held, record)
  end
  for _, counted in ipairs(entry.slots) do
    local key, slot, cost = counted[1], counted[2], counted[3]
    reserved[entry.key] = cost
    local there = tonumber(call('HGET', key, slot)) or 0
    local back = math.min(cost - (used_of[entry.key] or cost), there)
    if back > 0 then
      call('HINCRBY', key, slot, -back)
      call('HINCRBY', key, 'used', -back)
    end
  end
end
for _, limit in ipairs(limits) do
  local key = ARGV[limit.at + 1]
  local more = used_of[key] - (reserved[key] or 0)
  for _, rate in ipairs(more > 0 and limit.rates or {}) do
    local _, window = used_in_window(limit.base, rate, now)
    use_window(window, rate, now, more)
  end
end
return 1
