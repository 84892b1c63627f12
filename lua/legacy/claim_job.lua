-- Takes a job out of its place in a queue of Bull, for a queue on another server or in another slot. The claim stands
-- in ext:claim until acknowledge_job or return_job: the id is in no place that Bull looks at, so none of its workers
-- runs the job, whatever happens to the caller. The lock keeps clients of Bull from removing the job meanwhile.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    place (wait, paused, delayed, active, completed or failed), id, claim (a text of this claim alone, without
-- spaces),
--         lock (ms), drop (1: an id whose key is of another type leaves its place, and the key stays; optional)
-- Returns { score or '', field, value... }; only the score if the job has no hash; false if the job is not there, if it
-- is active
--         and locked, or if another claim has it; -1 if its key is of another type, and so no job. The same call again
--         returns the same.
local call = redis.call
--- @include attempt
--- @include on_hash
local P = string.sub(KEYS[1], 1, -5)

-- Not by unpack, which has a limit: a job may have thousands of fields.
local function with_job(score, job_key)
  local answer = on_hash('HGETALL', job_key)
  if not answer then
    return -1
  end
  table.insert(answer, 1, score)
  return answer
end

local place, id, claim = ARGV[1], ARGV[2], ARGV[3]
local lock = assert(tonumber(ARGV[4]), 'lock is not a number')
local key, job_key, claims = P .. place, P .. id, P .. 'ext:claim'
local known = call('HGET', claims, id)
if known then
  local found, _, score = string.match(known, '^(%S+) (%S+) ?(.*)$')
  return found == claim and with_job(score, job_key)
end

local kind = call('TYPE', key).ok
local score = kind == 'zset' and call('ZSCORE', key, id)
local is_there = score or kind == 'set' and call('SISMEMBER', key, id) == 1
  -- The next job to run is at the tail. A search of the whole list would block Redis if another client has taken the
  -- job.
  or kind == 'list' and call('LPOS', key, id, 'RANK', '-1', 'MAXLEN', place == 'active' and '0' or '10000')
local is_locked = place == 'active' and call('EXISTS', job_key .. ':lock') == 1
if not is_there or is_locked then
  return false
end
if kind == 'list' then
  score = redis.pcall('ZSCORE', P .. 'priority', id)
end
score = type(score) == 'string' and score or ''
local job = with_job(score, job_key)
local function leave()
  if kind == 'list' then
    call('LREM', key, -1, id)
  else
    call(kind == 'set' and 'SREM' or 'ZREM', key, id)
  end
end
if job == -1 then
  if ARGV[5] == '1' then
    leave()
  end
  return job
end

call('HSET', claims, id, claim .. ' ' .. place .. ' ' .. score)
attempt(function()
  call('SET', job_key .. ':lock', claim, 'PX', lock)
  leave()
end, function()
  call('HDEL', claims, id)
  redis.pcall('DEL', job_key .. ':lock')
end)
if kind == 'list' and score ~= '' then
  call('ZREM', P .. 'priority', id)
end
return job
