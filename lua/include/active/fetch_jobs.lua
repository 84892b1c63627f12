--- @include get_target
--- @include promote_delayed
--- @include call_many
--- @include read_waiting
--- @include enter_active
-- Moves up to `count` jobs to active under one token and appends to `reply`:
--   limiter ttl, next due ms,
--   hold: 1 nothing may be claimed ahead now, 2 the next job must run alone, else 0; below 0 as 1, since -n jobs may
--   start per window of the rate limit; from 4 on as 1, since the queue is at its global concurrency n after this call:
--   4n, or 4n + 1 if the marker of the fetch before was taken by a worker,
--   and, if there are jobs, one MessagePack string of id, job, id, job... and the scores of the prioritized jobs, which
--   come last. A job is {} if its key is no hash, else { flat hash }. If it has never run and has only the six standard
--   fields, it is their values without the names: name, data, opts, timestamp, delay, priority. All as before the
--   fetch.
-- An id whose key is no hash, or does not exist, is no job: it only leaves its place. It gets no lock and no event, no
-- limit counts it, and nothing is written to its key.
-- The first `slots` jobs start now and are stamped (processedOn, ats, pb): N of them leave the state of N single
-- fetches. The others are claimed ahead: their hashes do not change until their handlers start (see start_jobs and
-- move_to_finished). No job is claimed ahead under a global concurrency or a limiter, or if it has stalled before. A
-- job that has stalled `stalled_limit` times (nil = no such rule) is fetched alone, and only by a worker that has no
-- other job (`alone`).
-- `fans_out`: jobs that were promoted and not taken get the markers of fan_out.
-- now, token, lock_duration are the caller's strings; `known` as for get_target. `shared`, if neither nil nor P, is the
-- prefix of the queue whose rate limit counts. `scan`, if not nil, finds and takes other jobs than the next ones (see
-- scan_waiting). `first_delayed` as for promote_delayed. Returns true if the queue is idle: no job was taken, no job is
-- delayed, and no limit stopped the fetch.
local function fetch_jobs(P, reply, known, now, token, lock_duration, limiter_max, limiter_duration, worker_name, count,
  slots, stalled_limit, alone, fans_out, shared, scan, first_delayed)
  local target, blocked, settings = get_target(P, known)
  local promoted, first = promote_delayed(P, now, target, blocked, nil, first_delayed)

  local head = #reply
  reply[head + 1], reply[head + 2], reply[head + 3] = 0, 0, 0
  local limiter, active, limit = (shared or P) .. 'limiter', P .. 'active', settings
  if shared and shared ~= P then
    local _, _, theirs = get_target(shared)
    limit = theirs -- the counter is theirs: a number of the queue's own means nothing beside it
  end
  local max = tonumber(limit[3] or limiter_max)
  if max or blocked or settings[2] then
    reply[head + 3] = blocked and not settings[1] and 4 * math.max(settings[2], 1) or max and -math.max(max, 1) or 1
    count = math.min(count, slots)
  end
  local wanted = count
  local budget, free
  if max then
    local used = tonumber(call('GET', limiter)) or 0
    if used >= max then
      local ttl = call('PTTL', limiter)
      if ttl > 0 then
        reply[head + 1] = ttl
        return false
      elseif ttl == 0 then
        call('DEL', limiter)
        used = 0
      end
    end
    -- A counter without a time to live limits nothing.
    if used == 0 or call('PTTL', limiter) > 0 then
      budget = max - used
      wanted = math.min(wanted, budget)
    end
  end
  if blocked or count < 1 then
    return false
  end
  if settings[2] then
    free = settings[2] - call('LLEN', active)
    wanted = math.min(wanted, free)
  end

  worker_name = worker_name ~= '' and worker_name or nil
  local ids, scores, waiting = (scan and scan.read or read_waiting)(P, wanted)
  local found, taken = #ids, #ids

  -- Read all jobs before the first write. Stop at a job that must not be fetched now, and when there is so much data
  -- that others would wait for it: the marker below brings the worker back for the rest.
  local try = redis.pcall
  local jobs, starts, no_jobs, dropped, room = {}, {}, false, 0, 1000000
  local unlimited -- which jobs fail without a run, since a child of theirs has failed
  for i = 1, found do
    local job_key = P .. ids[i]
    -- Two commands, of which most jobs need no more, cost the server less than the names that HGETALL returns, too.
    local job = try('HMGET', job_key, 'name', 'data', 'opts', 'timestamp', 'delay', 'priority')
    local start, ahead = '1', i > slots
    if job.err then
      --- @include on_hash
      on_hash('HMGET', job_key, 'name') -- stops the call unless the key is no hash
      job, start = {}, false
    elseif job[1] and job[2] and job[3] and job[4] and job[5] and job[6] and call('HLEN', job_key) == 6 then
      room = room - #job[2] - #job[3]
    else
      local hash, stalled = call('HGETALL', job_key), nil
      for field = 1, #hash, 2 do
        room = room - #hash[field + 1]
        if hash[field] == 'ats' then
          start = (tonumber(hash[field + 1]) or 0) + 1 .. ''
        elseif hash[field] == 'stc' then
          stalled = tonumber(hash[field + 1]) or 0
        elseif max and hash[field] == 'defa' then
          unlimited = unlimited or {}
          unlimited[#unlimited + 1] = i
        end
      end
      start = hash[1] and start
      if stalled and stalled_limit and stalled >= stalled_limit then
        if i > 1 or not alone then
          taken, reply[head + 3] = i - 1, 2
          break
        end
        taken = 1
      elseif stalled and i > slots then
        taken = i - 1
        break
      end
      job = { hash }
    end
    jobs[2 * i - 1], jobs[2 * i], starts[i] = ids[i], job, not ahead and start
    if not start then
      no_jobs, dropped = no_jobs or {}, dropped + 1
      no_jobs[i] = true
    end
    if room < 0 then
      taken = math.min(taken, i)
    end
    if taken == i then
      break
    end
  end
  local entering = taken - dropped
  local counted = entering
  if unlimited then
    --- @include follows_6
    for n = 1, follows_6(P, settings) and #unlimited or 0 do -- in BullMQ 6 the rate limit does not count them
      counted = counted - (unlimited[n] <= taken and 1 or 0)
    end
  end

  if taken > 0 then
    if max and counted > 0 and call('INCRBY', limiter, counted) == counted then
      call('PEXPIRE', limiter, math.floor(math.abs(tonumber(limiter_duration) or limit[4] or 0)))
    end
    -- The lock is written before the job is active. If the call stops in between, the jobs are found by their token and
    -- are not taken for stalled.
    if token ~= '0' then
      for i = 1, taken do
        if not no_jobs or not no_jobs[i] then
          call('PSETEX', P .. ids[i] .. ':lock', lock_duration, token)
        end
      end
    end
    local enter = scan and scan.enter or enter_active
    enter(P, ids, taken, waiting, scores, no_jobs)
    local events = P .. 'events'
    for i = 1, taken do
      local start = starts[i]
      if not no_jobs or not no_jobs[i] then
        call('XADD', events, '*', 'event', 'active', 'jobId', ids[i], 'prev', 'waiting')
      end
      if start and worker_name then
        call('HSET', P .. ids[i], 'processedOn', now, 'ats', start, 'pb', worker_name)
      elseif start then
        call('HSET', P .. ids[i], 'processedOn', now, 'ats', start)
      end
    end
    reply[head + 4] = cmsgpack.pack(jobs) -- one string is cheaper for both sides than twenty per job
    if waiting < taken then
      reply[head + 5] = scores
    end
    local set = call('ZADD', P .. 'marker', '0', '0')
    if entering == free and reply[head + 3] < 2 then
      reply[head + 3] = 4 * settings[2] + set
    end
    if fans_out and promoted and #promoted > taken then
      --- @include fan_out
      local _, full = get_target(P, settings)
      fan_out(P, full, { unpack(promoted, taken + 1) })
    end
  end

  if taken < found then
    return false
  end
  -- The counter stays if prioritized jobs were claimed ahead: they may be given back.
  if taken < wanted and (taken <= slots or taken == waiting) and not (scan and scan.unmatched > 0) then
    call('DEL', P .. 'pc')
  end
  if taken == count and entering > 0 then
    return false
  end
  if budget and counted == budget then
    reply[head + 1] = math.max(call('PTTL', limiter), 0)
    return false
  end
  if taken == wanted and wanted < count then
    return false -- at the global concurrency
  end
  if promoted then
    first = call('ZRANGE', P .. 'delayed', '0', '0', 'WITHSCORES')[2]
  end
  if first then
    reply[head + 2] = math.floor(first / 4096)
    return false
  end
  return entering == 0
end
