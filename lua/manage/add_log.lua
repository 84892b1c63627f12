-- Appends a row to a job's log.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, row, keep (newest rows to keep, "" = all) [, "own" (the job's own option `kl` counts if it has one)]
-- Returns the number of rows kept; -1 no such job
-- Events  none
local call = redis.call
local job_key = string.sub(KEYS[1], 1, -5) .. ARGV[1]
local keep = tonumber(ARGV[3]) or 0
if call('EXISTS', job_key) == 0 then
  return -1
end
if ARGV[4] then
  local opts = call('HGET', job_key, 'opts')
  local done, own = pcall(cjson.decode, opts and string.find(opts, '"kl"', 1, true) and opts or '{}')
  own = done and type(own) == 'table' and tonumber(own.kl) -- any client may have written it
  keep = own and own < 9007199254740992 and math.floor(own) or keep
end
local length = call('RPUSH', job_key .. ':logs', ARGV[2])
if keep > 0 then
  call('LTRIM', job_key .. ':logs', -keep, -1)
  return math.min(keep, length)
end
return length
