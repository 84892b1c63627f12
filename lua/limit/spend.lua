--- Settles a grant: its slots become free. What was not used is given back; what was used beyond counts from now on.
--- KEYS[1] <prefix>:<queue>:meta, as for take: <prefix>::meta or <prefix>:{tag}:meta
--- ARGV    now ("" = the time of the server), grant, then per limit: name, key, cost that was taken, cost that was used
--- Returns 1; 0 if the grant is settled already, or its lease is over: then nothing changes.
--- Events  none
local call = redis.call
--- @include server_time
--- @include read_limits
--- @include slot_of
--- @include used_in_window
--- @include use_window

local P, grant = string.sub(KEYS[1], 1, -5), ARGV[2]
if not ARGV[1] or not grant or grant == '' or (#ARGV - 2) % 4 ~= 0 then
  return redis.error_reply('ERR spend: malformed arguments')
end
for at = 3, #ARGV, 4 do
  for i = at + 2, at + 3 do
    local cost = tonumber(ARGV[i])
    if not cost or cost < 0 or cost % 1 ~= 0 then
      return redis.error_reply('ERR spend: malformed cost')
    end
  end
end
local now, record = server_time(ARGV[1]), P .. 'ext:grant-' .. grant
local taken_at = tonumber(call('GET', record))
if not taken_at then
  return 0
end
local limits = read_limits(P, ARGV, 3, 4)
-- The record first: a call that stops in between has given back too little at most.
call('DEL', record)
for _, limit in ipairs(limits) do
  local more = tonumber(ARGV[limit.at + 3]) - tonumber(ARGV[limit.at + 2])
  call('ZREM', limit.base .. 'held', record)
  for _, rate in ipairs(limit.rates or {}) do
    local used, key = used_in_window(limit.base, rate, now)
    if more > 0 then
      use_window(key, rate, now, more)
    elseif more < 0 and used > 0 then
      local slot = string.format('%d', (slot_of(rate[1], rate[2], taken_at)))
      local there = tonumber(call('HGET', key, slot))
      if there then
        local back = math.min(-more, there)
        call('HINCRBY', key, slot, -back)
        call('HINCRBY', key, 'used', -back)
      end
    end
  end
end
return 1
