--- @include get_target
--- @include follows_6
--- @include add_marker
--- @include max_len_events
--- @include move_jobs
--- @include on_hash
-- Moves the first `count` ids of a state's set, up to `max_score`, to the waiting list. Priorities are ignored. In a
-- queue of BullMQ 6, parents depend again on children that had finished.
-- `fans_out`: with the markers of fan_out.
-- Returns 1 if `count` ids were moved (there may be more), else 0.
local function move_set_to_wait(P, state, max_score, count, fans_out)
  local set_key = P .. state
  local ids = call('ZRANGEBYSCORE', set_key, 0, max_score, 'LIMIT', 0, count)
  if #ids == 0 then
    return 0
  end
  local target, blocked, settings = get_target(P)
  local max_len = max_len_events(P, settings[5])
  for _, id in ipairs(ids) do
    if state == 'completed' or state == 'failed' then
      on_hash('HDEL', P .. id, 'finishedOn', 'processedOn', state == 'failed' and 'failedReason' or 'returnvalue')
    end
  end
  add_marker(P, blocked)
  if fans_out then
    --- @include fan_out
    fan_out(P, blocked, ids)
  end
  for first = 1, #ids, 1000 do
    local part = { unpack(ids, first, math.min(first + 999, #ids)) }
    move_jobs({ { ids = part, key = target, push = 'LPUSH' } }, function()
      call('ZREM', set_key, unpack(part))
    end)
  end
  for _, id in ipairs(ids) do
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len, '*', 'event', 'waiting', 'jobId', id, 'prev', state)
  end
  if state ~= 'delayed' and follows_6(P, settings) then
    --- @include relink_parent
    -- Last, since these are keys of other jobs: an error about them is returned, but these jobs have moved.
    local failed
    for _, id in ipairs(ids) do
      local done, refused = pcall(function()
        relink_parent(P .. id, call('HGET', P .. id, 'parentKey'), state)
      end)
      failed = failed or not done and refused
    end
    if failed then
      error(failed, 0)
    end
  end
  return #ids == count and 1 or 0
end
