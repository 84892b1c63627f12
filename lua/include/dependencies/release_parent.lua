--- @include ready_place
--- @include get_target
--- @include add_marker
--- @include add_delay_marker
--- @include move_jobs
--- @include priority_of
--- @include note_ready
-- Moves a parent out of the set `from` because its children are done or one has failed: to the front of its queue, to
-- delayed if it has a delay, or among the prioritized.
local function release_parent(P, id, now, from)
  local fields = call('HMGET', P .. id, 'delay', 'priority')
  local delay, due = tonumber(fields[1]) or 0, nil
  local target, blocked = get_target(P)
  local place = ready_place(P, id, priority_of(fields[2]), 'RPUSH', target)
  if delay > 0 then
    due = now + delay
    place = { ids = { id }, key = P .. 'delayed', scores = { due * 4096 } }
  end
  move_jobs({ place }, function()
    call('ZREM', P .. from, id)
  end)
  if due then
    call('XADD', P .. 'events', '*', 'event', 'delayed', 'jobId', id, 'delay', due)
    add_delay_marker(P)
  else
    add_marker(P, blocked)
    note_ready(P, id)
    call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'waiting-children')
  end
end
