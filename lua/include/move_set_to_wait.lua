--- @include get_target
--- @include add_marker
--- @include max_len_events
-- Move the lowest `count` ids of a state's set, up to `max_score`, to the waiting list, whatever their priority.
-- Returns 1 if as many as asked were moved (there may be more), else 0.
local function move_set_to_wait(P, state, max_score, count)
  local set_key = P .. state
  local ids = call('ZRANGEBYSCORE', set_key, 0, max_score, 'LIMIT', 0, count)
  if #ids == 0 then
    return 0
  end
  local target, blocked, settings = get_target(P)
  local max_len = max_len_events(P, settings[5])
  for _, id in ipairs(ids) do
    if state == 'completed' or state == 'failed' then
      call('HDEL', P .. id, 'finishedOn', 'processedOn', state == 'failed' and 'failedReason' or 'returnvalue')
    end
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len, '*', 'event', 'waiting', 'jobId', id, 'prev', state)
  end
  for first = 1, #ids, 1000 do
    local last = math.min(first + 999, #ids)
    call('ZREM', set_key, unpack(ids, first, last))
    call('LPUSH', target, unpack(ids, first, last))
  end
  add_marker(P, blocked)
  return #ids == count and 1 or 0
end
