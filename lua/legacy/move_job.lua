-- Moves a job of Bull to a queue of BullMQ in the same slot: it is always in exactly one of them. Its data and its log
-- stay as they are.
-- KEYS[1] <prefix>:<queue>:meta of Bull's queue
-- KEYS[2] <prefix>:<queue>:meta of BullMQ's queue
-- ARGV    from (wait, paused, delayed, active, completed or failed), id, new_id, other_id (where a job with the new id
-- exists; '' for
--         none), place (wait, front, prioritized, delayed, completed or failed), score (the priority, or the time of
--         the end; else ''), counted ('', or the field of ext:migration that counts the move), numbers of fields seen,
--         deleted and written, fields seen (field, value or '' ...), fields deleted, fields written (field, value...)
-- Returns { the new id, 1 if the job has data else 0 }; 0 the id is not there any more; -1 the job has changed since it
-- was seen;
--         -2 a job with the new id exists; -3 a worker holds the job; -4 there was no job, only its id, which is
--         removed
-- Events  added, then waiting or delayed; none for a finished job
local call = redis.call
--- @include change_queue
--- @include on_hash
local P, T = string.sub(KEYS[1], 1, -5), string.sub(KEYS[2], 1, -5)
local from, id, new_id, other_id, place, counted = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[7]
local score = ARGV[6] == '' and 0 or tonumber(ARGV[6])
local seen, deleted, written = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
if not score or not written or #ARGV ~= 10 + 2 * seen + deleted + 2 * written then
  return redis.error_reply('ERR move_job: malformed arguments')
end

local from_key, job_key = P .. from, P .. id
local kind = call('TYPE', from_key).ok
local due
if kind == 'list' then
  -- The next job to run is at the tail. A search of the whole list would block Redis if another client has taken the
  -- job.
  if not call('LPOS', from_key, id, 'RANK', '-1', 'MAXLEN', from == 'active' and '0' or '10000') then
    return 0
  end
elseif kind == 'zset' then
  due = call('ZSCORE', from_key, id)
  if not due then
    return 0
  end
elseif kind ~= 'set' or call('SISMEMBER', from_key, id) == 0 then
  return 0
end
local function leave()
  if kind == 'list' then
    call('LREM', from_key, '-1', id)
  else
    call(kind == 'zset' and 'ZREM' or 'SREM', from_key, id)
  end
end

if from == 'active' and call('EXISTS', job_key .. ':lock') == 1 then
  return -3
end
local names = {}
for i = 1, seen do
  names[i] = ARGV[9 + 2 * i]
end
local now = on_hash('HMGET', job_key, 'data', unpack(names))
if not now then
  return -1 -- a key of another type is no job, and is left to the caller
end
if call('EXISTS', job_key) == 0 then
  leave()
  return -4
end
for i = 1, seen do
  if (now[i + 1] or '') ~= ARGV[10 + 2 * i] then
    return -1
  end
end
if call('EXISTS', T .. new_id) == 1 then
  new_id = other_id
  if new_id == '' or call('EXISTS', T .. new_id) == 1 then
    return -2
  end
end

local job = {
  id = id, new_id = new_id, place = place, score = place == 'delayed' and due or score, leave = leave, parts = { ':logs' },
  rewrite = function(new_key)
    if written > 0 then
      call('HSET', new_key, unpack(ARGV, 11 + 2 * seen + deleted))
    end
    if deleted > 0 then
      call('HDEL', new_key, unpack(ARGV, 11 + 2 * seen, 10 + 2 * seen + deleted))
    end
  end,
}
change_queue(P, T, job)
if kind == 'list' then
  redis.pcall('ZREM', P .. 'priority', id)
end
if counted ~= '' then
  call('HINCRBY', T .. 'ext:migration', counted, 1)
end
announce_change(T, job)
return { new_id, now[1] and 1 or 0 }
