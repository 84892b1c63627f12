-- Stores a job's progress and adds its event; with a row, also appends that to the job's log.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, progress (JSON), row (absent = none), keep (newest rows to keep, "" = all)
-- Returns 0; -1 no such job
-- Events  progress (jobId, data=progress JSON)
local call = redis.call
--- @include max_len_events
local P = string.sub(KEYS[1], 1, -5)
local id, progress = ARGV[1], ARGV[2]
if call('EXISTS', P .. id) == 0 then
  return -1
end
call('HSET', P .. id, 'progress', progress)
if ARGV[3] then
  local keep = tonumber(ARGV[4]) or 0
  call('RPUSH', P .. id .. ':logs', ARGV[3])
  if keep > 0 then
    call('LTRIM', P .. id .. ':logs', -keep, -1)
  end
end
call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'progress', 'jobId', id, 'data', progress)
return 0
