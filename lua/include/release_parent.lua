--- @include get_target
--- @include add_delay_marker
--- @include make_ready
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
  local target, blocked = get_target(P)
  make_ready(P, id, tonumber(fields[2]) or 0, 'RPUSH', target, blocked)
  call('XADD', P .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'waiting-children')
end
