--- Finishes jobs (completed or failed for good) and takes the next ones in the same call.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, metrics_max_points (0 = off), fetch_count (0 = do not fetch), token, lock_duration, limiter_max,
---         limiter_duration, worker_name, slots, stalled_limit, alone; token and what follows it are for the fetch (see
---         move_to_active), worker_name also for the stamps. Then runs, one after another.
---         Run: count, target (completed|failed), token ("0" = no lock check), keep_count (-1 = all, 0 = none),
---         keep_age (seconds or ""), ats, plain_fields, returnvalue_json (of all jobs of the run; "" = each has its own), then per
---         job of a run with ats: processed_on, and
---           completed: id [, returnvalue_json]
---           failed:    id, failed_reason, stacktrace_json, attempts
---         ats: the number of this start, of jobs that were claimed ahead and are stamped only now; "" = are stamped.
---         plain_fields: how many each hash has if it still is as its fetch left it, which found nothing in it but what every
---         job has, and none that was started before; "" = not known. One HLEN then tells that there is nothing to read.
--- Returns { { index, code, ... } of the jobs that were refused (0-based over all runs), limiter ttl ms, next due ms, hold
---         [, jobs[, scores]] }, the last ones as in move_to_active. Codes: -1 no such job, -2/-6 lock gone/not ours, -3 not active,
---         -4 pending dependencies, -9 failed children; or the text of an error about a key of the job.
---         A call all of whose jobs were refused does not fetch. If a parent could not be told, a last element lists
---         { parent_key, error, ... }.
--- Events  completed or failed [, retries-exhausted] per job; those of released parents; added and waiting or delayed of a
---         job that was parked while its deduplication key's owner ran; those of the fetch; drained
---
--- A job enters its finished set before it leaves active, leaves that again if the call stops in between, with its events, and
--- keeps its lock until the end: whatever command is refused, the same call again brings to an end what the first one began (`finishedOn` in an
--- active job tells that its attempt is counted; a job without a hash that is to be removed was removed).
local call = redis.call
--- @include get_target
--- @include remove_job_keys
--- @include max_len_events
--- @include leave_together
--- @include fetch_jobs

local P = string.sub(KEYS[1], 1, -5)
local ARGV = ARGV
local size = #ARGV
local now, fetch_count = ARGV[1], tonumber(ARGV[3])
if not tonumber(now) or not tonumber(ARGV[2]) or not fetch_count or size < 11 then
  return redis.error_reply('ERR move_to_finished: malformed arguments')
end

local FIRST_RUN, HEAD = 12, 8
local AS_FETCHED = { '1' } -- its ats; it has neither atm nor a parent nor a deduplication id
local function width_of(run)
  return (ARGV[run + 1] == 'failed' and 4 or ARGV[run + 7] == '' and 2 or 1) + (ARGV[run + 5] == '' and 0 or 1)
end

-- Check the form of all runs and collect every key whose existence decides, before anything is written.
local ids, job_keys, lock_keys, child_keys, completing, targets = {}, {}, {}, {}, 0, {}
local from, jobs = FIRST_RUN, 0
while from <= size do
  local count, target = tonumber(ARGV[from]), ARGV[from + 1]
  local completed = target == 'completed'
  targets[target or ''] = true
  local width = width_of(from)
  local next_run = count and from + HEAD + count * width
  if not count or count < 1 or not (completed or target == 'failed') or not tonumber(ARGV[from + 3])
    or not ARGV[from + 7] or next_run > size + 1 then
    return redis.error_reply('ERR move_to_finished: malformed run at argument ' .. from)
  end
  for at = from + HEAD + (ARGV[from + 5] == '' and 0 or 1), next_run - 1, width do
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

for target in pairs(targets) do -- a damaged set is noticed before anything is written
  call('ZCARD', P .. target)
end

local _, _, settings = get_target(P)
-- What finish_all works on and what it has done. In one table, since each local of the script that a function names costs the
-- server as much as a small command.
local batch = {
  job_keys = job_keys, lock_keys = lock_keys, locks = locks, parents_present = parents_present, settings = settings,
  leaving = read_leaving(P, ids),
  refused = {}, -- index, code, ...
  released = {}, released_keys = {}, -- ids and locks
  entered = {}, -- { set, { score, id, ... } }, ...
  told_from = false, -- the id of the first event about an outcome
  finished = false, -- any job
}

local parent_errors = {}
-- What touches keys of other jobs must not stop a batch half-way: a key of an unexpected type, a queue out of reach.
local function settle(parent_key, step, ...)
  local done, failed = pcall(step, ...)
  if not done then
    parent_errors[#parent_errors + 1] = parent_key
    parent_errors[#parent_errors + 1] = type(failed) == 'table' and failed.err or tostring(failed)
  end
end

-- Returns what a child does with its parent: tell_parent and detach_child.
local function of_parents()
  --- @include read_parent
  --- @include settle_parent
  --- @include fail_dependency
  --- @include detach_child
  local function tell_parent(job_key, parent_key, parent_json, completed, value)
    local parent = read_parent(parent_key, parent_json)
    if not completed then
      fail_dependency(parent, job_key, value, now)
    elseif call('SISMEMBER', parent.key .. ':dependencies', job_key) == 1 then
      call('HSET', parent.key .. ':processed', job_key, value)
      call('SREM', parent.key .. ':dependencies', job_key)
      settle_parent(parent.P, parent.id, now)
    end
  end
  return tell_parent, detach_child
end

-- Why a job must not complete: children that are not done, or that have failed.
local function children_of(job_key)
  local pending = redis.pcall('SCARD', job_key .. ':dependencies')
  if type(pending) == 'table' then
    return pending.err
  elseif pending > 0 then
    return -4
  end
  local failed = redis.pcall('ZCARD', job_key .. ':unsuccessful')
  if type(failed) == 'table' then
    return failed.err
  end
  return failed > 0 and -9 or 0
end

local function finish_all(batch)
  local job_keys, lock_keys, locks, leaving, entered = batch.job_keys, batch.lock_keys, batch.locks, batch.leaving, batch.entered
  local now, max_points, worker_name = ARGV[1], tonumber(ARGV[2]), ARGV[8]
  local active, events = P .. 'active', P .. 'events'
  -- With a global concurrency the length of active decides along the way, so each job leaves it at once.
  local capped = batch.settings[2]
  local seen, released = {}, 0
  local tell_parent, detach_child
  local index, at, size, jobs = 0, FIRST_RUN, #ARGV, #job_keys
  while at <= size do
    local count, target, token = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2]
    local keep_count, keep_age = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local completed, set_key = target == 'completed', P .. target
    local width, plain_fields = width_of(at), tonumber(ARGV[at + 6])
    local shared_value = ARGV[at + 7] ~= '' and ARGV[at + 7]
    local stamp, claimed = {}, 0
    if ARGV[at + 5] ~= '' then
      stamp, claimed = { 'ats', ARGV[at + 5], 'processedOn', '' }, 1
      if worker_name ~= '' then
        stamp[5], stamp[6] = 'pb', worker_name
      end
    end
    local entries, kept, finished = {}, 0, 0
    at = at + HEAD

    for i = 1, count do
      local own = at + claimed
      local id, value, stacktrace, attempts = ARGV[own], shared_value or ARGV[own + 1], ARGV[own + 2], ARGV[own + 3]
      if claimed == 1 then
        stamp[4] = ARGV[at]
      end
      at = at + width
      index = index + 1
      local job_key = job_keys[index]
      local job = AS_FETCHED
      if not plain_fields or redis.pcall('HLEN', job_key) ~= plain_fields then
        job = redis.pcall('HMGET', job_key, 'ats', 'atm', 'parentKey', 'deid', 'finishedOn')
      end

      local code = 0
      if job.err then -- the key is no hash any more
        code = -1
      elseif not job[1] and not (keep_count == 0 and token ~= '0' and locks[index] == token)
        and call('EXISTS', job_key) == 0 then
        code = -1
      elseif completed and batch.parents_present then
        code = children_of(job_key)
      end
      if code == 0 and token ~= '0' then
        local held = not seen[id] and locks[index]
        if held ~= token then
          code = held and -6 or -2
        else
          seen[id] = true
          released = released + 1
          batch.released[released], batch.released_keys[released] = id, lock_keys[index]
        end
      end
      if code == 0 and not is_leaving(leaving, id) then
        code = -3
        if not completed then -- as in BullMQ, the failure is on record all the same
          call('HSET', job_key, 'failedReason', value, 'stacktrace', stacktrace)
        end
      end

      local attempts_made
      if code == 0 then
        finished, batch.finished = finished + 1, true
        if index == jobs then -- the trim of the last of N single calls makes those before it redundant
          call('XTRIM', events, 'MAXLEN', '~', max_len_events(P, batch.settings[5]))
        end
        local parent_json = job[3] and call('HGET', job_key, 'parent')
        attempts_made = job[2] or '1'
        if job[2] and not job[5] then
          attempts_made = (tonumber(job[2]) or 0) + 1 .. ''
        end
        if keep_count ~= 0 then
          if completed then
            call('HSET', job_key, 'atm', attempts_made, 'returnvalue', value, 'finishedOn', now, unpack(stamp))
          else
            call('HSET', job_key, 'atm', attempts_made, 'failedReason', value, 'stacktrace', stacktrace,
              'finishedOn', now, unpack(stamp))
            call('HDEL', job_key, 'defa')
          end
        end
        if capped then
          if keep_count ~= 0 then
            call('ZADD', set_key, now, id)
            entered[1] = { set_key, { now, id } }
          end
          call('LREM', active, '-1', id)
          entered[1] = nil
        end
        if job[4] then
          --- @include release_deduplication
          settle(job_key, release_deduplication, P, id, job[4], now)
        end
        if job[3] then
          if not tell_parent then
            tell_parent, detach_child = of_parents()
          end
          settle(job[3], tell_parent, job_key, job[3], parent_json, completed, value)
        end
        if keep_count == 0 then
          remove_job_keys(job_key)
          if job[3] then
            settle(job[3], detach_child, P, job_key, job[3], parent_json, false)
          end
        else
          kept = kept + 1
          entries[2 * kept - 1], entries[2 * kept] = now, id
        end
      end

      -- The whole run enters its set before the last event, where a single job has its pruning.
      if i == count and kept > 0 then
        if not capped then
          entered[#entered + 1] = { set_key, entries }
          call_many('ZADD', set_key, entries)
        end
        if keep_count > 0 or keep_age then
          --- @include prune_finished
          settle(set_key, prune_finished, P, set_key, now, keep_count, keep_age, kept)
        end
      end

      if code ~= 0 then
        local refused = batch.refused
        refused[#refused + 1] = index - 1
        refused[#refused + 1] = code
      elseif completed then
        local told = call('XADD', events, '*', 'event', 'completed', 'jobId', id, 'returnvalue', value, 'prev', 'active')
        batch.told_from = batch.told_from or told
      else
        local told = call('XADD', events, '*', 'event', 'failed', 'jobId', id, 'failedReason', value, 'prev', 'active')
        batch.told_from = batch.told_from or told
        if tonumber(attempts_made) >= (tonumber(attempts) or 0) then
          call('XADD', events, '*', 'event', 'retries-exhausted', 'jobId', id, 'attemptsMade', attempts_made)
        end
      end
    end

    if max_points > 0 and finished > 0 then
      --- @include collect_metrics
      collect_metrics(P, target, now, max_points, finished)
    end
  end

  if not capped then
    leave_together(leaving)
  end
end

local done, failed = pcall(finish_all, batch)
local active, events = batch.leaving.key, P .. 'events'
if not done then -- what jobs that are still active entered and told is taken back
  local outcomes = { completed = true, failed = true, ['retries-exhausted'] = true }
  for _, entry in ipairs(batch.told_from and redis.pcall('XRANGE', events, batch.told_from, '+') or {}) do
    local fields = entry[2] -- event, its name, jobId, the id
    if outcomes[fields[2]] and call('LPOS', active, fields[4]) then
      redis.pcall('XDEL', events, entry[1])
    end
  end
  for _, set in ipairs(batch.entered) do
    for i = 2, #set[2], 2 do
      if call('LPOS', active, set[2][i]) then
        call('ZREM', set[1], set[2][i])
      end
    end
  end
  error(failed, 0)
end

local released = #batch.released
if released > 0 then
  for first = 1, released, 1000 do
    call('DEL', unpack(batch.released_keys, first, math.min(first + 999, released)))
  end
  if call('EXISTS', P .. 'stalled') == 1 then -- seldom: one cheap question instead of N arguments
    call_many('SREM', P .. 'stalled', batch.released)
  end
end

local reply = { batch.refused }
local idle = true
if fetch_count > 0 and (batch.finished or jobs == 0) then
  idle = fetch_jobs(P, reply, settings, now, ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], fetch_count, tonumber(ARGV[9]),
    tonumber(ARGV[10]), ARGV[11] == '1')
else
  reply[2], reply[3], reply[4] = 0, 0, 0
end
if idle and batch.finished and call('LLEN', P .. 'wait') == 0 and call('LLEN', active) == 0
  and call('ZCARD', P .. 'prioritized') == 0 then
  call('XADD', events, '*', 'event', 'drained')
end
if parent_errors[1] then
  reply[5], reply[6], reply[7] = reply[5] or false, reply[6] or false, parent_errors
end
return reply
