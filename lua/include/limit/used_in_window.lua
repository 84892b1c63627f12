-- How much of a rate was used in the window that ends now. A window is a hash: `used`, `first` and `last` slot, and for
-- each slot what was used in it; the list `<hash>:slots` has the slots in their order. A slot counts as long as any of
-- its times is in the window. At most 100 slots are dropped per call: then more counts than was used, never less.
local function used_in_window(base, rate, now)
  local window = rate[2]
  local key = base .. string.format('%d', window)
  local known = call('HMGET', key, 'used', 'first', 'last')
  local used, first, last = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
  if not (used and first and last) then
    return 0, key
  end
  local slots = key .. ':slots'
  if last + window < now then
    call('DEL', key, slots)
    return 0, key
  end
  if last > now + window then
    -- The clock was set back by more than a window. What was used counts as if it were used now.
    call('DEL', key, slots)
    call('HSET', key, 'used', used, 'first', now, 'last', now, now, used)
    call('RPUSH', slots, now)
    call('PEXPIRE', key, 2 * window)
    call('PEXPIRE', slots, 2 * window)
    return used, key
  end
  if first + window < now then
    local oldest, over = call('LRANGE', slots, 0, 99), 0
    while over < #oldest and tonumber(oldest[over + 1]) + window < now do
      over = over + 1
    end
    local gone = { unpack(oldest, 1, over) }
    for _, cost in ipairs(call('HMGET', key, unpack(gone))) do
      used = used - (tonumber(cost) or 0)
    end
    call('LTRIM', slots, over, -1)
    call('HDEL', key, unpack(gone))
    call('HSET', key, 'used', used, 'first', oldest[over + 1] or call('LINDEX', slots, 0) or last)
  end
  return used, key
end
