-- Changes a job's priority and, if it waits to run, its place.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, priority, lifo (1 = before jobs of equal priority)
-- Returns 0; -1 no such job
-- Events  none
local call = redis.call
--- @include ready_place
--- @include get_target
--- @include add_marker
--- @include move_waiting
local P = string.sub(KEYS[1], 1, -5)
local id = ARGV[1]
local priority = assert(tonumber(ARGV[2]), 'priority is not a number')
local lifo = ARGV[3] == '1'
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end

local from, is_set = find_waiting(P, id)
if from and from ~= P .. 'delayed' then
  local target, blocked = get_target(P)
  local place = ready_place(P, id, priority, lifo and 'RPUSH' or 'LPUSH', target)
  if priority ~= 0 and lifo then
    -- Counter 0 sorts before every job of this priority. BullMQ sets no marker here.
    place = { ids = { id }, key = P .. 'prioritized', scores = { priority * 4294967296 } }
  end
  if not place.scores then
    add_marker(P, blocked)
  end
  move_waiting(id, from, is_set, place)
end
call('HSET', job_key, 'priority', ARGV[2])
return 0
