-- Deletes a job's log, or all but its newest rows.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, keep (newest rows to keep, "" = none)
-- Returns 0
-- Events  none
local logs_key = string.sub(KEYS[1], 1, -5) .. ARGV[1] .. ':logs'
local keep = tonumber(ARGV[2]) or 0
if keep > 0 then
  redis.call('LTRIM', logs_key, -keep, -1)
else
  redis.call('DEL', logs_key)
end
return 0
