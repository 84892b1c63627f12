-- Adds a job of Bull that was claimed on another server or in another slot. Its tombstone in ext:mig lets each claim
-- add once. With the place `back` it adds nothing, and no other call with this claim does: the job goes back to Bull.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), tombstone, id, other_id (where a job with this id exists; '' for none), place (wait, front,
-- prioritized,
--         delayed, completed, failed, or back), score (the priority, the score, or the time of the end; '' for wait and
--         front), mirror ('', or what ext:mirror keeps until the job has ended), counted ('', or the field of
--         ext:migration that counts the move), the number of log rows, the rows, field, value...
-- Returns the id; 0 if the claim has added its job before; -1 if a job with this id exists; -2 the job goes back to Bull
-- Events  added, then waiting or delayed; none for a finished job
local call = redis.call
--- @include add_delay_marker
--- @include add_marker
--- @include get_target
--- @include max_len_events
--- @include move_jobs
--- @include ready_place
local P = string.sub(KEYS[1], 1, -5)
local now, tombstone, id, place, mirror = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[7]
local score = ARGV[6] == '' and 0 or assert(tonumber(ARGV[6]), 'score is not a number')
local counted = ARGV[8]
local rows = assert(tonumber(ARGV[9]), 'the number of rows is not a number')
if call('ZSCORE', P .. 'ext:mig', tombstone) then
  return 0
end
if place == 'back' then
  call('ZADD', P .. 'ext:mig', now, tombstone .. ' back')
end
if call('ZSCORE', P .. 'ext:mig', tombstone .. ' back') then
  return -2
end
if call('EXISTS', P .. id) == 1 then
  id = ARGV[4]
  if id == '' or call('EXISTS', P .. id) == 1 then
    return -1
  end
end
local target, blocked, settings = get_target(P)
local max_len = max_len_events(P, settings[5])

local entry
if place == 'wait' or place == 'front' or place == 'prioritized' then
  entry = ready_place(P, id, score, place == 'front' and 'RPUSH' or 'LPUSH', target)
else
  entry = { ids = { id }, key = P .. place, scores = { ARGV[6] } }
end
local number = string.find(id, '^[1-9]%d*$') and #id < 16 and tonumber(id)
if number and number > (tonumber(call('GET', P .. 'id') or 0) or 0) then
  call('SET', P .. 'id', id)
end
-- In parts, since unpack has a limit: a job may have thousands of fields and log rows. A field stays with its value.
local function write(command, key, first, last)
  for at = first, last, 5000 do
    call(command, key, unpack(ARGV, at, math.min(at + 4999, last)))
  end
end

local name
local done, failed = pcall(function()
  write('HSET', P .. id, 10 + rows, #ARGV)
  write('RPUSH', P .. id .. ':logs', 10, 9 + rows)
  if mirror ~= '' then
    call('HSET', P .. 'ext:mirror', id, mirror)
  end
  name = call('HGET', P .. id, 'name') or ''
  move_jobs({ entry }, function()
    call('ZADD', P .. 'ext:mig', now, tombstone)
  end)
end)
if not done then
  call('UNLINK', P .. id, P .. id .. ':logs')
  if mirror ~= '' then
    call('HDEL', P .. 'ext:mirror', id)
  end
  error(failed, 0)
end
if counted ~= '' then
  call('HINCRBY', P .. 'ext:migration', counted, 1)
end
if place == 'completed' or place == 'failed' then
  return id
end
local events = P .. 'events'
call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
if place == 'delayed' then
  local due = string.format('%.0f', math.floor(score / 4096))
  call('XADD', events, 'MAXLEN', '~', max_len, '*', 'event', 'delayed', 'jobId', id, 'delay', due)
  add_delay_marker(P)
else
  call('XADD', events, 'MAXLEN', '~', max_len, '*', 'event', 'waiting', 'jobId', id)
  add_marker(P, blocked)
end
return id
