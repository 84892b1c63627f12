--- @include follows_6
--- @include join_waiting
-- Pauses a queue. Its jobs that wait go to `paused`, as in BullMQ 5; in a queue of 6 they stay where they are.
local function pause_queue(P)
  -- The deletion comes first: a Redis that is out of memory refuses no script that began with one. So a queue can be
  -- paused before it is emptied.
  call('DEL', P .. 'marker')
  if not follows_6(P) then
    join_waiting(P, P .. 'paused')
  end
  call('HSET', P .. 'meta', 'paused', 1)
  call('XADD', P .. 'events', '*', 'event', 'paused')
end
