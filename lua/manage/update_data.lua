-- Replaces a job's data.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, data (JSON)
-- Returns 0; -1 no such job
-- Events  none
local job_key = string.sub(KEYS[1], 1, -5) .. ARGV[1]
if redis.call('EXISTS', job_key) == 0 then
  return -1
end
redis.call('HSET', job_key, 'data', ARGV[2])
return 0
