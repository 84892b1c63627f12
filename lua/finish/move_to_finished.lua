--- Finishes jobs (completed or failed for good) and takes the next ones in the same call.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, metrics_max_points (0 = off), fetch_count (0 = do not fetch), token, lock_duration, limiter_max,
---         limiter_duration, worker_name; the last five are for the fetch. Then runs, one after another.
---         Run: count, target (completed|failed), token ("0" = no lock check), keep_count (-1 = all, 0 = none),
---         keep_age (seconds or ""), plain_fields, returnvalue_json (of all jobs of the run; "" = each has its own), then per job
---           completed: id [, returnvalue_json]
---           failed:    id, failed_reason, stacktrace_json, attempts
---         plain_fields: how many each hash has if it still is as its fetch left it, which found nothing in it but what every
---         job has and started it for the first time; "" = not known. One HLEN then tells that there is nothing to read.
--- Returns { { index, code, ... } of the jobs that were refused (0-based over all runs), limiter ttl ms, next due ms
---         [, jobs] }, the last three as in move_to_active. Codes: -1 no such job, -2/-6 lock gone/not ours, -3 not active, -4 pending
---         dependencies, -9 failed children. A call all of whose jobs were refused does not fetch.
--- Events  completed or failed [, retries-exhausted] per job; those of released parents; added and waiting or delayed of a
---         job that was parked while its deduplication key's owner ran; those of the fetch; drained
local call = redis.call
--- @include get_target
--- @include read_parent
--- @include settle_parent
--- @include fail_dependency
--- @include detach_child
--- @include remove_job_keys
--- @include release_deduplication
--- @include max_len_events
--- @include collect_metrics
--- @include prune_finished
--- @include count_active
--- @include rewrite_active
--- @include fetch_jobs

local P = string.sub(KEYS[1], 1, -5)
local ARGV = ARGV
local size = #ARGV
local now, max_points, fetch_count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not tonumber(now) or not max_points or not fetch_count or size < 8 then
  return redis.error_reply('ERR move_to_finished: malformed arguments')
end

local HEAD = 7
local AS_FETCHED = { '1' } -- its ats; it has neither atm nor a parent nor a deduplication id
local function width_of(run)
  return ARGV[run + 1] == 'failed' and 4 or ARGV[run + 6] == '' and 2 or 1
end

-- Check the form of all runs and collect every key whose existence decides, before anything is written.
local ids, job_keys, lock_keys, child_keys, completing = {}, {}, {}, {}, 0
local from, jobs = 9, 0
while from <= size do
  local count, target = tonumber(ARGV[from]), ARGV[from + 1]
  local completed = target == 'completed'
  local width = width_of(from)
  local next_run = count and from + HEAD + count * width
  if not count or count < 1 or not (completed or target == 'failed') or not tonumber(ARGV[from + 3])
    or next_run > size + 1 then
    return redis.error_reply('ERR move_to_finished: malformed run at argument ' .. from)
  end
  for at = from + HEAD, next_run - 1, width do
    local job_key = P .. ARGV[at]
    jobs = jobs + 1
    ids[jobs], job_keys[jobs], lock_keys[jobs] = ARGV[at], job_key, job_key .. ':lock'
    if completed then
      completing = completing + 2
      child_keys[completing - 1] = job_key .. ':dependencies'
      child_keys[completing] = job_key .. ':unsuccessful'
    end
  end
  from = next_run
end

local locks, parents_present = {}, false
for first = 1, jobs, 1000 do
  local held = call('MGET', unpack(lock_keys, first, math.min(first + 999, jobs)))
  for i = 1, #held do
    locks[first + i - 1] = held[i]
  end
end
for first = 1, completing, 1000 do
  if call('EXISTS', unpack(child_keys, first, math.min(first + 999, completing))) > 0 then
    parents_present = true
  end
end

local active, events = P .. 'active', P .. 'events'
local _, _, settings = get_target(P)
local left, part, whole
if not settings[2] then -- with a global concurrency the length of active decides along the way
  left, part, whole = count_active(P, ids)
end
local function remove_from_active(id)
  if left and (left[id] or 0) > 0 then
    left[id] = left[id] - 1
    return true
  elseif left and not whole then -- named twice, and perhaps further ahead once more
    rewrite_active(P, left, part)
    left = nil
  end
  return not left and call('LREM', active, '-1', id) == 1
end

-- What touches keys of other jobs runs under pcall: a key of an unexpected type must not stop a batch half-way.
local function tell_parent(job_key, parent_key, parent_json, completed, value)
  local parent = read_parent(parent_key, parent_json)
  if not completed then
    fail_dependency(parent, job_key, value, now)
  elseif call('SREM', parent.key .. ':dependencies', job_key) == 1 then
    call('HSET', parent.key .. ':processed', job_key, value)
    settle_parent(parent.P, parent.id, now)
  end
end

local refused, unlocked, unlocked_keys, seen = {}, {}, {}, {}
local released, any_finished = 0, false
local index, at = 0, 9
while at <= size do
  local count, target, token = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2]
  local keep_count, keep_age = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local completed = target == 'completed'
  local width, plain_fields = width_of(at), tonumber(ARGV[at + 5])
  local shared_value = width == 1 and ARGV[at + 6]
  local entries, kept, finished = {}, 0, 0
  at = at + HEAD

  for i = 1, count do
    local id, value, stacktrace, attempts = ARGV[at], shared_value or ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    at = at + width
    index = index + 1
    local job_key = job_keys[index]
    local job = AS_FETCHED
    if not plain_fields or redis.pcall('HLEN', job_key) ~= plain_fields then
      job = redis.pcall('HMGET', job_key, 'ats', 'atm', 'parentKey', 'deid')
    end

    local code = 0
    if job.err then -- the key is no hash any more
      code = -1
    elseif not job[1] and call('EXISTS', job_key) == 0 then
      code = -1
    elseif completed and parents_present and call('SCARD', job_key .. ':dependencies') > 0 then
      code = -4
    elseif completed and parents_present and call('ZCARD', job_key .. ':unsuccessful') > 0 then
      code = -9
    elseif token ~= '0' then
      local held = not seen[id] and locks[index]
      if held ~= token then
        code = held and -6 or -2
      else
        seen[id] = true
        released = released + 1
        unlocked[released], unlocked_keys[released] = id, lock_keys[index]
      end
    end
    if code == 0 and not remove_from_active(id) then
      code = -3
      if not completed then -- as in BullMQ, the failure is on record all the same
        call('HSET', job_key, 'failedReason', value, 'stacktrace', stacktrace)
      end
    end

    local attempts_made
    if code == 0 then
      finished, any_finished = finished + 1, true
      if index == jobs then -- the trim of the last of N single calls makes those before it redundant
        call('XTRIM', events, 'MAXLEN', '~', max_len_events(P, settings[5]))
      end
      if job[4] then
        pcall(release_deduplication, P, id, job[4], now)
      end
      local parent_json = job[3] and call('HGET', job_key, 'parent')
      if job[3] then
        pcall(tell_parent, job_key, job[3], parent_json, completed, value)
      end

      attempts_made = job[2] and (tonumber(job[2]) or 0) + 1 .. '' or '1'
      if keep_count == 0 then
        remove_job_keys(job_key)
        pcall(detach_child, P, job_key, job[3], parent_json, false)
      else
        kept = kept + 1
        entries[2 * kept - 1], entries[2 * kept] = now, id
        if completed then
          call('HSET', job_key, 'atm', attempts_made, 'returnvalue', value, 'finishedOn', now)
        else
          call('HSET', job_key, 'atm', attempts_made, 'failedReason', value, 'stacktrace', stacktrace,
            'finishedOn', now)
          call('HDEL', job_key, 'defa')
        end
      end
    end

    -- The whole run enters its set before the last event, where a single job has its pruning.
    if i == count and kept > 0 then
      call_many('ZADD', P .. target, entries)
      if keep_count > 0 or keep_age then
        pcall(prune_finished, P, P .. target, now, keep_count, keep_age, kept)
      end
    end

    if code ~= 0 then
      refused[#refused + 1] = index - 1
      refused[#refused + 1] = code
    elseif completed then
      call('XADD', events, '*', 'event', 'completed', 'jobId', id, 'returnvalue', value, 'prev', 'active')
    else
      call('XADD', events, '*', 'event', 'failed', 'jobId', id, 'failedReason', value, 'prev', 'active')
      if tonumber(attempts_made) >= (tonumber(attempts) or 0) then
        call('XADD', events, '*', 'event', 'retries-exhausted', 'jobId', id, 'attemptsMade', attempts_made)
      end
    end
  end

  if max_points > 0 and finished > 0 then
    collect_metrics(P, target, now, max_points, finished)
  end
end

if left then
  rewrite_active(P, left, part)
end
if released > 0 then
  for first = 1, released, 1000 do
    call('DEL', unpack(unlocked_keys, first, math.min(first + 999, released)))
  end
  if call('EXISTS', P .. 'stalled') == 1 then -- seldom: one cheap question instead of N arguments
    call_many('SREM', P .. 'stalled', unlocked)
  end
end

local reply = { refused }
local idle = true
if fetch_count > 0 and (any_finished or jobs == 0) then
  idle = fetch_jobs(P, reply, settings, now, ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], fetch_count)
else
  reply[2], reply[3] = 0, 0
end
if idle and any_finished and call('LLEN', P .. 'wait') == 0 and call('LLEN', active) == 0
  and call('ZCARD', P .. 'prioritized') == 0 then
  call('XADD', events, '*', 'event', 'drained')
end
return reply
