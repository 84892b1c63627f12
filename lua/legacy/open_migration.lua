-- Registers a migration from a queue of Bull, before its first job comes. What is decided here holds until the end,
-- also for a run after a crash.
-- KEYS[1] <prefix>:<queue>:meta of BullMQ's queue
-- ARGV    source (a text), merge (1: the queue may have jobs), last_id (the source's counter, '' without one)
-- Returns 'kept': jobs keep their ids; 'l-': numeric ids get this prefix; -1: the queue has jobs
local call = redis.call
local P = string.sub(KEYS[1], 1, -5)
local source, merge, last_id = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3])
local known = call('HGET', P .. 'ext:migration', source)
if not known then
  local jobs = call('EXISTS', P .. 'wait', P .. 'paused', P .. 'active', P .. 'delayed', P .. 'prioritized', P .. 'completed',
    P .. 'failed', P .. 'waiting-children', P .. 'repeat')
  if jobs > 0 and not merge then
    return -1
  end
  known = (jobs > 0 or call('EXISTS', P .. 'id') == 1) and 'l-' or 'kept'
end
-- First, since a later run must not take the counter that this one writes for one of jobs of the queue's own.
call('HSET', P .. 'ext:migration', source, known)
-- Jobs that are added here meanwhile do not take the ids of jobs that are still to come.
if known == 'kept' and last_id and last_id > (tonumber(call('GET', P .. 'id') or 0) or 0) then
  call('SET', P .. 'id', string.format('%.0f', last_id))
end
return known
