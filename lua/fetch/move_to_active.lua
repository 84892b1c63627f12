--- Fetches the next jobs: promotes the delayed jobs that are due, then moves up to `count` jobs from wait (first) or
--- prioritized to active, locks them and returns them. The first `slots` start now, the others are claimed ahead (see
--- fetch_jobs).
--- KEYS[1] <prefix>:<queue>:meta
--- KEYS[2] optional: <prefix>:<queue>:meta of another queue whose rate limit counts
--- ARGV    now, token ("0" = no lock), lock_duration, limiter_max, limiter_duration, worker_name, count, slots,
---         stalled_limit (a job that stalled so often runs alone; "" = no such rule), alone (1 = the worker has no
---         other job) [, "fan_out": wakes a worker per promoted job that is left, see fan_out]
--- Returns { limiter ttl ms, next due ms, hold[, jobs[, scores]] }; the times are 0 unless fewer than `count` jobs
---         could be taken. hold: 1 nothing may be claimed ahead now, 2 the next job must run alone, else 0; below 0
---         there is a rate limit, from 4 on the queue is at its global concurrency (see fetch_jobs).
---         jobs is one MessagePack array of id, job, id, job... (see fetch_jobs)
--- Events  waiting (prev=delayed) per promoted job, active per job
local call = redis.call
--- @include fetch_jobs

local P = string.sub(KEYS[1], 1, -5)
local count, slots = tonumber(ARGV[7]), tonumber(ARGV[8])
if not tonumber(ARGV[1]) or not count or count < 1 or not slots or not ARGV[10] then
  return redis.error_reply('ERR move_to_active: malformed arguments')
end
local reply = {}
fetch_jobs(P, reply, nil, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], count, slots, tonumber(ARGV[9]),
  ARGV[10] == '1', ARGV[11], KEYS[2] and string.sub(KEYS[2], 1, -5))
return reply
