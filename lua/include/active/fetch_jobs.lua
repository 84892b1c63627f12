--- @include get_target
--- @include promote_delayed
--- @include call_many
--- @include read_waiting
--- @include enter_active
-- Moves up to `count` jobs to active under one token and appends to `reply`: limiter ttl, next due ms, hold and, if there
-- are jobs, one MessagePack string of id, job, id, job..., and the scores of those that were prioritized: they come last.
-- The first `slots` jobs start now and are stamped (processedOn, ats, pb): N of them leave the state of N single fetches. The
-- others are claimed ahead: nothing in them changes until their handler starts (see start_jobs and move_to_finished).
-- Nothing is claimed ahead under a global concurrency or a limiter, and no job that has stalled before. One that stalled
-- `stalled_limit` times ("" = no such rule) comes alone, and only to a worker that has nothing else in hand (`alone` = 1).
-- A job is {} if its key is no hash, { flat hash } or, if it has never run and has nothing but the six fields of every job,
-- their values without the names, which cost as much as they do: name, data, opts, timestamp, delay, priority; all as before.
-- hold: 1 nothing may be claimed ahead now, 2 the next job must run alone, else 0.
-- now, token, lock_duration are the caller's strings; `known` as for get_target. Returns true when there was nothing
-- to do at all.
local function fetch_jobs(
  P, reply, known, now, token, lock_duration, limiter_max, limiter_duration, worker_name, count, slots, stalled_limit, alone)
  local target, blocked, settings = get_target(P, known)
  promote_delayed(P, now, target, blocked)

  local head = #reply
  reply[head + 1], reply[head + 2], reply[head + 3] = 0, 0, 0
  local limiter, active = P .. 'limiter', P .. 'active'
  local max = tonumber(settings[3] or limiter_max)
  if max or blocked or settings[2] then
    reply[head + 3] = 1
    count = math.min(count, slots)
  end
  local wanted = count
  local budget
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
    -- A counter that never got a time to live does not limit anybody.
    if used == 0 or call('PTTL', limiter) > 0 then
      budget = max - used
      wanted = math.min(wanted, budget)
    end
  end
  if blocked or count < 1 then
    return false
  end
  if settings[2] then
    wanted = math.min(wanted, settings[2] - call('LLEN', active))
  end

  worker_name = worker_name ~= '' and worker_name or nil
  local ids, scores, waiting = read_waiting(P, wanted)
  local found, taken = #ids, #ids

  -- Read all before the first write, and stop at a job that must not come now.
  local try = redis.pcall
  local jobs, job_keys, starts, foreign = {}, {}, {}, false
  for i = 1, found do
    local job_key = P .. ids[i]
    local job = try('HMGET', job_key, 'name', 'data', 'opts', 'timestamp', 'delay', 'priority')
    local start, ahead = '1', i > slots
    if job.err then
      job, start, foreign = {}, false, true
    elseif not (job[1] and job[2] and job[3] and job[4] and job[5] and job[6] and call('HLEN', job_key) == 6) then
      local hash, stalled = call('HGETALL', job_key), nil
      for field = 1, #hash, 2 do
        if hash[field] == 'ats' then
          start = (tonumber(hash[field + 1]) or 0) + 1 .. ''
        elseif hash[field] == 'stc' then
          stalled = tonumber(hash[field + 1]) or 0
        end
      end
      ahead = ahead and hash[1] -- without a hash it cannot wait for its start
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
    jobs[2 * i - 1], jobs[2 * i], job_keys[i], starts[i] = ids[i], job, job_key, not ahead and start
    if taken == 1 then
      break
    end
  end

  if taken > 0 then
    if max and call('INCRBY', limiter, taken) == taken then
      call('PEXPIRE', limiter, math.floor(math.abs(tonumber(limiter_duration) or settings[4] or 0)))
    end
    -- A lock comes before its job is active: what stops half-way is found by its token, and nobody takes it for stalled.
    if token ~= '0' then
      for i = 1, taken do
        if not foreign or jobs[2 * i][1] then
          call('PSETEX', job_keys[i] .. ':lock', lock_duration, token)
        end
      end
    end
    enter_active(P, ids, taken, waiting, scores, foreign and jobs)
    local events = P .. 'events'
    for i = 1, taken do
      local start = starts[i]
      if not foreign or jobs[2 * i][1] then
        call('XADD', events, '*', 'event', 'active', 'jobId', ids[i], 'prev', 'waiting')
      end
      if start and worker_name then
        call('HSET', job_keys[i], 'processedOn', now, 'ats', start, 'pb', worker_name)
      elseif start then
        call('HSET', job_keys[i], 'processedOn', now, 'ats', start)
      end
    end
    reply[head + 4] = cmsgpack.pack(jobs) -- one string is cheaper for both ends than twenty per job
    if waiting < taken then
      reply[head + 5] = scores
    end
    call('ZADD', P .. 'marker', '0', '0')
  end

  if taken < found then
    return false
  end
  -- Jobs that were claimed ahead may come back, and with them the need for their counter.
  if taken < wanted and (taken <= slots or taken == waiting) then
    call('DEL', P .. 'pc')
  end
  if taken == count then
    return false
  end
  if budget and taken == budget then
    reply[head + 1] = math.max(call('PTTL', limiter), 0)
    return false
  end
  if taken == wanted then
    return false -- at the global concurrency
  end
  local first = call('ZRANGE', P .. 'delayed', '0', '0', 'WITHSCORES')
  if first[2] then
    reply[head + 2] = math.floor(first[2] / 4096)
    return false
  end
  return taken == 0
end
