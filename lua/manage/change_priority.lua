-- Give a job another priority and, if it waits, its new place in line.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, priority, lifo (1 = before its equals)
-- Returns 0; -1 no such job
-- Events  none
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include push_prioritized
local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
local priority = assert(tonumber(ARGV[2]), 'priority is not a number')
local lifo = ARGV[3] == '1'
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end

local target, blocked = get_target(P)
-- Beside version 6 clients a waiting job may be in either list; otherwise the second one is empty.
if
  call('ZREM', P .. 'prioritized', id) == 1
  or call('LREM', target, -1, id) == 1
  or call('LREM', P .. (target == P .. 'wait' and 'paused' or 'wait'), -1, id) == 1
then
  if priority == 0 then
    call(lifo and 'RPUSH' or 'LPUSH', target, id)
    add_marker(P, blocked)
  elseif lifo then
    -- Counter 0 sorts before every job of this priority; BullMQ wakes nobody here.
    call('ZADD', P .. 'prioritized', priority * 0x100000000, id)
  else
    push_prioritized(P, id, priority)
    add_marker(P, blocked)
  end
end
call('HSET', job_key, 'priority', ARGV[2])
return 0
