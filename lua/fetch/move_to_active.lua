--- Takes the next jobs: promotes what is due, then moves up to `count` jobs from wait (first) or prioritized to
--- active, locks them and returns them.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, token ("0" = no lock), lock_duration, limiter_max, limiter_duration, worker_name, count
--- Returns { limiter ttl ms, next due ms[, jobs] }; the numbers are 0 unless fewer than `count` jobs could be taken.
---         jobs is one MessagePack array of id, job, id, job... (see fetch_jobs)
--- Events  waiting (prev=delayed) per promoted job, active per job
local call = redis.call
--- @include fetch_jobs

local P = string.sub(KEYS[1], 1, -5)
local count = tonumber(ARGV[7])
if not tonumber(ARGV[1]) or not count or count < 1 then
  return redis.error_reply('ERR move_to_active: malformed arguments')
end
local reply = {}
fetch_jobs(P, reply, nil, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], count)
return reply
