--- @include get_target
--- @include add_marker
--- @include add_delay_marker
--- @include push_prioritized
-- A parent resumes because a child settled: it is next in its queue, after its own delay or by its priority.
local function release_parent(P, id, now)
  local fields = call('HMGET', P .. id, 'delay', 'priority')
  local delay = tonumber(fields[1]) or 0
  if delay > 0 then
    local due = now + delay
    call('ZADD', P .. 'delayed', due * 4096, id)
    call('XADD', P .. 'events', '*', 'event', 'delayed', 'jobId', id, 'delay', due)
    add_delay_marker(P)
    return
  end
  local priority = tonumber(fields[2]) or 0
  local target, blocked = get_target(P)
  if priority == 0 then
    call('RPUSH', target, id)
  else
    push_prioritized(P, id, priority)
  end
  add_marker(P, blocked)
  call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'waiting-children')
end
