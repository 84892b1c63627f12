--- @include slot_of
-- Counts a cost in the window that ends now; see used_in_window, which was called before. Returns the slot.
local function use_window(key, rate, now, cost)
  local window = rate[2]
  local slot = slot_of(rate[1], window, now)
  local last = tonumber(call('HGET', key, 'last'))
  slot = math.max(slot, last or 0) -- where the slots of an earlier setting were longer
  local text = string.format('%d', slot)
  -- A call that stops in between leaves more in `used` than in the slots, until the window is over.
  call('HINCRBY', key, 'used', cost)
  if last ~= slot then
    local slots = key .. ':slots'
    call('RPUSH', slots, text)
    call('PEXPIRE', slots, 2 * window)
    if last then
      call('HSET', key, 'last', text)
    else
      call('HSET', key, 'last', text, 'first', text)
    end
  end
  call('HINCRBY', key, text, cost)
  call('PEXPIRE', key, 2 * window)
  return text
end
