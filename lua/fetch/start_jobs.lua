--- Stamps jobs that were claimed ahead and whose handlers have started since then.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    worker_name ("" = none), then per job: id, token, ats, processed_on
--- Returns the number of stamped jobs. A job is skipped if its token does not hold the lock, if its hash is gone, or if
---         its key or lock has another type.
--- Events  none
local call = redis.call
--- @include on_hash

local P = string.sub(KEYS[1], 1, -5)
local worker_name = ARGV[1]
local stamped = 0
-- In parts, since unpack has a limit. Often a job has finished meanwhile, and only its lock is read.
for first = 2, #ARGV - 3, 4000 do
  local last, lock_keys = math.min(first + 3999, #ARGV), {}
  for at = first, last - 3, 4 do
    lock_keys[#lock_keys + 1] = P .. ARGV[at] .. ':lock'
  end
  local held, job_keys = call('MGET', unpack(lock_keys)), {} -- a lock of another type reads as absent
  for i = 1, #held do
    local at = first + 4 * (i - 1)
    if held[i] == ARGV[at + 1] then
      job_keys[#job_keys + 1] = P .. ARGV[at]
    else
      held[i] = false
    end
  end
  local all_exist = job_keys[1] and call('EXISTS', unpack(job_keys)) == #job_keys
  for i = 1, #held do
    local at = first + 4 * (i - 1)
    local job_key = P .. ARGV[at]
    -- A stamp alone would make a hash, which others took for a job.
    if held[i] and (all_exist or (on_hash('HLEN', job_key) or 0) > 0) then
      local stamp = { 'ats', ARGV[at + 2], 'processedOn', ARGV[at + 3] }
      if worker_name ~= '' then
        stamp[5], stamp[6] = 'pb', worker_name
      end
      stamped = stamped + (on_hash('HSET', job_key, unpack(stamp)) and 1 or 0)
    end
  end
end
return stamped
