-- Releases a job's lock without changing the job's state.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, token
-- Returns 1 released; 0 lock absent or held by another token
-- Events  none
local lock_key = string.sub(KEYS[1], 1, -5) .. ARGV[1] .. ':lock'
if redis.call('GET', lock_key) == ARGV[2] then
  return redis.call('DEL', lock_key)
end
return 0
