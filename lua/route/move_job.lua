-- Moves a waiting job of a route to another queue in the same slot, since no worker takes it there: it is always in
-- exactly one of them, and keeps its priority. Its parent, if it has one, waits for it there. A job with children that
-- are not done stays: they know it by its key.
-- KEYS[1] <prefix>:<queue>:meta of the route
-- KEYS[2] <prefix>:<queue>:meta of the queue or the route that it moves to
-- ARGV    from (wait, paused or prioritized), id, processed_on as it was seen ("" = never started)
-- Returns the id in the other queue: a new number if a job there has its id; 0 the id is not there any more; -1 it is
--         no job, has run since it was seen, or has children that are not done
-- Events  added, then waiting; in the queue that it leaves: removed (prev=from)
local call = redis.call
--- @include change_queue
--- @include on_hash
--- @include priority_of

local P, T = string.sub(KEYS[1], 1, -5), string.sub(KEYS[2], 1, -5)
local from, id, seen = ARGV[1], ARGV[2], ARGV[3]
local from_key, job_key, is_set = P .. (from or ''), P .. (id or ''), from == 'prioritized'
if not seen or P == T or not (is_set or from == 'wait' or from == 'paused') then
  return redis.error_reply('ERR move_job: malformed arguments')
end

local found
if is_set then
  found = call('ZSCORE', from_key, id)
else
  -- The next job to run is at the tail. A search of the whole list would block Redis if a worker has taken the job.
  found = call('LPOS', from_key, id, 'RANK', '-1', 'MAXLEN', '10000')
end
if not found then
  return 0
end
local fields = on_hash('HMGET', job_key, 'processedOn', 'priority', 'parentKey')
if not fields or call('HLEN', job_key) == 0 or (fields[1] or '') ~= seen then
  return -1
end
local open_children = redis.pcall('SCARD', job_key .. ':dependencies')
if type(open_children) == 'number' and open_children > 0 then
  return -1
end
-- A parent that waits for this job knows it by its key. A parent that cannot be read stays as it is.
local dependencies = fields[3] and fields[3] .. ':dependencies'
if dependencies and redis.pcall('SISMEMBER', dependencies, job_key) ~= 1 then
  dependencies = nil
end

local new_id, new_key = id, T .. id
while call('EXISTS', new_key) == 1 do
  new_id = string.format('%.0f', call('INCR', T .. 'id'))
  new_key = T .. new_id
end
local priority = priority_of(fields[2])
local job = {
  id = id, new_id = new_id, place = priority > 0 and 'prioritized' or 'wait', score = priority,
  parts = { ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful' },
  rewrite = function()
    if dependencies then
      call('SREM', dependencies, new_key) -- it has none yet: if Redis refuses SREM, then here
      call('SADD', dependencies, new_key)
    end
  end,
  undo = function()
    if dependencies then
      redis.pcall('SREM', dependencies, new_key)
    end
  end,
  leave = function()
    if dependencies then
      call('SREM', dependencies, job_key)
    end
    attempt(function()
      if is_set then
        call('ZREM', from_key, id)
      else
        call('LREM', from_key, '-1', id)
      end
    end, function()
      if dependencies then
        call('SADD', dependencies, job_key)
      end
    end)
  end,
}
change_queue(P, T, job)
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'removed', 'jobId', id, 'prev', from)
announce_change(T, job)
return new_id
