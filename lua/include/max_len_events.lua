--- @include stream_length
-- Length to which the event stream is trimmed; writes BullMQ's default when the queue has none.
-- `stored` is the value if the caller already read it (settings[5] of get_target).
local function max_len_events(P, stored)
  if stored == nil then
    stored = stream_length(call('HGET', P .. 'meta', 'opts.maxLenEvents'))
  end
  if not stored then
    call('HSET', P .. 'meta', 'opts.maxLenEvents', '10000')
    return '10000'
  end
  return stored
end
