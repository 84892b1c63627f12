--- Takes a grant: all of its limits, or none.
--- KEYS[1] <prefix>:<queue>:meta, without a queue (<prefix>::meta), or with the hash tag of the queues that share the
---         limits (<prefix>:{tag}:meta)
--- ARGV    now ("" = the time of the server), grant (an id that nobody else uses), lease ms,
---         then per limit: name, key (the name with the value for which it holds), cost (whole, at least 0)
--- Returns { 1, when it was taken }; a grant that exists is not taken again; or
---         { 0, ms until the rates allow it, index of the limit (0-based), 1 }: a rate is used up, or the limit is held;
---         { 0, the same, index, 2 }: all slots of its concurrency are taken; or
---         { -1, most, index, 0 }: the cost is more than a window ever allows.
---         A limit that nobody has set is no limit.
--- Events  none
local call = redis.call
--- @include server_time
--- @include read_limits
--- @include used_in_window
--- @include use_window
--- @include free_at
--- @include free_slots

local P, grant, lease = string.sub(KEYS[1], 1, -5), ARGV[2], tonumber(ARGV[3])
if not ARGV[1] or not grant or grant == '' or not lease or lease < 1 or lease % 1 ~= 0 or #ARGV % 3 ~= 0 then
  return redis.error_reply('ERR take: malformed arguments')
end
local now, record = server_time(ARGV[1]), P .. 'ext:grant-' .. grant
local known = call('GET', record)
if known then
  return { 1, cmsgpack.unpack(known)[1] }
end

local limits = read_limits(P, ARGV, 4, 3)
local wait, refused, is_full = 0, nil, nil
for _, limit in ipairs(limits) do
  local cost = tonumber(ARGV[limit.at + 2])
  if not cost or cost < 0 or cost % 1 ~= 0 then
    return redis.error_reply('ERR take: malformed cost')
  end
  limit.cost, limit.windows = cost, {}
  local held = call('PTTL', limit.base .. 'hold')
  if held > 0 then
    wait, refused = math.max(wait, held), limit.index
  end
  for i, rate in ipairs(limit.rates or {}) do
    if cost > rate[1] then
      return { -1, rate[1], limit.index, 0 }
    end
    local used, key = used_in_window(limit.base, rate, now)
    limit.windows[i] = key
    local above = used + cost - rate[1]
    if above > 0 and cost > 0 then
      local ms = math.max(free_at(key, rate, above) - now, 1)
      if ms > wait then
        wait, refused = ms, limit.index
      end
    end
  end
  if limit.concurrency and not is_full and free_slots(limit) < 1 then
    is_full = limit.index
  end
end
if is_full then
  return { 0, wait, is_full, 2 }
elseif refused then
  return { 0, wait, refused, 1 }
end

-- The record last: a call that stops in between has counted too much, never too little. It says what was counted, and
-- in which slots, since the settings may change before the grant is settled.
local counted = {}
for _, limit in ipairs(limits) do
  local entry = { key = ARGV[limit.at + 1], slots = {} }
  counted[#counted + 1] = entry
  if limit.concurrency then
    entry.held = limit.base .. 'held'
    call('ZADD', entry.held, now + lease, record)
    if call('PTTL', entry.held) < lease then -- it goes when all leases are over
      call('PEXPIRE', entry.held, lease)
    end
  end
  for i, rate in ipairs(limit.rates or {}) do
    if limit.cost > 0 then
      local slot = use_window(limit.windows[i], rate, now, limit.cost)
      entry.slots[#entry.slots + 1] = { limit.windows[i], slot, limit.cost }
    end
  end
end
call('SET', record, cmsgpack.pack({ now, counted }), 'PX', lease)
return { 1, now }
