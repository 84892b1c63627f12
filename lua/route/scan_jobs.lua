--- Fetches like move_to_active, but only jobs whose target matches the worker's profile: for jobs with a target that
--- other clients put into the queue itself.
--- KEYS[1] <prefix>:<queue>:meta
--- KEYS[2] optional: <prefix>:<queue>:meta of another queue whose rate limit counts
--- ARGV    those of move_to_active, then depth (how many of the next jobs are looked at, in `wait` and in
---         `prioritized`), profile (JSON: server, stack, capabilities, region) [, "fan_out" as there]
--- Returns { limiter ttl ms, next due ms, hold, jobs or nil, scores or nil, unmatched }: as move_to_active, and how
---         many jobs were looked at and left, since they are for other workers.
--- Events  waiting (prev=delayed) per promoted job, active per job
local call = redis.call
--- @include fetch_jobs
--- @include scan_waiting

local P = string.sub(KEYS[1], 1, -5)
local count, slots, depth = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[11])
local decoded, profile = pcall(cjson.decode, ARGV[12] or '')
if not tonumber(ARGV[1]) or not count or count < 1 or not slots or not depth or depth < 1
  or not decoded or type(profile) ~= 'table' then
  return redis.error_reply('ERR scan_jobs: malformed arguments')
end
local reply, scan = {}, scan_waiting(depth, profile)
fetch_jobs(P, reply, nil, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], count, slots, tonumber(ARGV[9]),
  ARGV[10] == '1', ARGV[13], KEYS[2] and string.sub(KEYS[2], 1, -5), scan)
reply[4], reply[5], reply[6] = reply[4] or false, reply[5] or false, scan.unmatched
return reply
