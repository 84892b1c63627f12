-- Length to which the event stream is trimmed; writes BullMQ's default when the queue has none. Any client may have written
-- it: what XADD and XTRIM do not take counts as the default.
-- `stored` is the value if the caller already read it (settings[5] of get_target).
local function max_len_events(P, stored)
  if stored == nil then
    stored = call('HGET', P .. 'meta', 'opts.maxLenEvents')
  end
  if not stored then
    call('HSET', P .. 'meta', 'opts.maxLenEvents', '10000')
  elseif stored == '0' or #stored < 19 and string.find(stored, '^[1-9]%d*$') then
    return stored
  end
  return '10000'
end
