--- @include follows_6
--- @include join_waiting
-- Pauses a queue. Its jobs that wait go to `paused`, as in BullMQ 5; in a queue of 6 they stay in `wait`, and those that
-- a client of 5 has parked in `paused` join them: the next pause or resume of 5 would overwrite one of two lists.
local function pause_queue(P)
  -- The deletion comes first: a Redis that is out of memory refuses no script that began with one. So a queue can be
  -- paused before it is emptied.
  call('DEL', P .. 'marker')
  join_waiting(P, P .. (follows_6(P) and 'wait' or 'paused'))
  call('HSET', P .. 'meta', 'paused', 1)
  call('XADD', P .. 'events', '*', 'event', 'paused')
end
