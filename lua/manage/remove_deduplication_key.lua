-- Deletes a deduplication key, if the job owns it.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id (of the job), deduplication_id
-- Returns 1; 0 the job does not own it (any more)
-- Events  none
local call = redis.call
local key = string.sub(KEYS[1], 1, -5) .. 'de:' .. ARGV[2]
if call('GET', key) ~= ARGV[1] then
  return 0
end
return call('DEL', key)
