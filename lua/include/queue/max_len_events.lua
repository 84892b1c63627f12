-- The length to which the event stream is trimmed. Writes BullMQ's default if the queue has none. Any client may write
-- this field: a value that XADD and XTRIM refuse counts as the default.
-- `stored` is the value if the caller has read it already (settings[5] of get_target).
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
