--- @include get_target
--- @include promote_delayed
--- @include call_many
--- @include stamp_job
-- Moves up to `count` jobs to active under one token and appends to `reply`: limiter ttl, next due ms and, if there
-- are jobs, one MessagePack string of id, job, id, job... N jobs leave the state of N single fetches.
-- A job is { flat hash } or, if it has never run and has nothing but the six fields of every job, their values without the
-- names, which cost as much as they do: name, data, opts, timestamp, delay, priority, processedOn [, pb]; ats is 1.
-- now, token, lock_duration are the caller's strings; `known` as for get_target. Returns true when there was nothing
-- to do at all.
local function fetch_jobs(P, reply, known, now, token, lock_duration, limiter_max, limiter_duration, worker_name, count)
  local target, blocked, settings = get_target(P, known)
  promote_delayed(P, now, target, blocked)

  local head = #reply
  reply[head + 1], reply[head + 2] = 0, 0
  local wanted = count
  local limiter = P .. 'limiter'
  local max = tonumber(settings[3] or limiter_max)
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
  if blocked then
    return false
  end
  if settings[2] then
    wanted = math.min(wanted, settings[2] - call('LLEN', P .. 'active'))
  end

  worker_name = worker_name ~= '' and worker_name or nil
  local byte = string.byte
  local ids, taken = {}, 0
  while taken < wanted do
    local popped = call('RPOP', P .. 'wait', wanted - taken)
    if not popped then
      break
    end
    for i = 1, #popped do
      local id = popped[i]
      if byte(id, 2) ~= 58 or byte(id) ~= 48 then -- `0:`, wake-up markers of old versions are not jobs
        taken = taken + 1
        ids[taken] = id
      end
    end
  end
  if taken < wanted then
    local popped = call('ZPOPMIN', P .. 'prioritized', wanted - taken)
    for i = 1, #popped, 2 do
      taken = taken + 1
      ids[taken] = popped[i]
    end
    if taken < wanted then
      call('DEL', P .. 'pc')
    end
  end

  if taken > 0 then
    call_many('LPUSH', P .. 'active', ids)
    if max and call('INCRBY', limiter, taken) == taken then
      call('PEXPIRE', limiter, math.floor(math.abs(tonumber(limiter_duration) or settings[4] or 0)))
    end
    local events = P .. 'events'
    local jobs = {}
    for i = 1, taken do
      local id = ids[i]
      local job_key = P .. id
      local job = redis.pcall('HMGET', job_key, 'name', 'data', 'opts', 'timestamp', 'delay', 'priority')
      if job.err then
        -- No hash, no job: it only leaves active, or it would stop every batch it is part of.
        call('LREM', P .. 'active', '1', id)
        job = { {} }
      else
        if token ~= '0' then
          call('PSETEX', job_key .. ':lock', lock_duration, token)
        end
        call('XADD', events, '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
        local started = '1'
        if job[1] and job[2] and job[3] and job[4] and job[5] and job[6] and call('HLEN', job_key) == 6 then
          job[7], job[8] = now, worker_name
        else
          local hash
          hash, started = stamp_job(call('HGETALL', job_key), now, worker_name)
          job = { hash }
        end
        if worker_name then
          call('HSET', job_key, 'processedOn', now, 'ats', started, 'pb', worker_name)
        else
          call('HSET', job_key, 'processedOn', now, 'ats', started)
        end
      end
      jobs[2 * i - 1], jobs[2 * i] = id, job
    end
    reply[head + 3] = cmsgpack.pack(jobs) -- one string is cheaper for both ends than twenty per job
    call('ZADD', P .. 'marker', '0', '0')
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
