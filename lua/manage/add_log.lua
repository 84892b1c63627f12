-- Appends a row to a job's log.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, row, keep (newest rows to keep, "" = all)
-- Returns the number of rows kept; -1 no such job
-- Events  none
local call = redis.call
local job_key = string.sub(KEYS[1], 1, -5) .. ARGV[1]
local keep = tonumber(ARGV[3]) or 0
if call('EXISTS', job_key) == 0 then
  return -1
end
local length = call('RPUSH', job_key .. ':logs', ARGV[2])
if keep > 0 then
  call('LTRIM', job_key .. ':logs', -keep, -1)
  return math.min(keep, length)
end
return length
