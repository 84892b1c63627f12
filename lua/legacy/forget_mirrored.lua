-- The end of a job is known to the queue of Bull that it came from: what its own options say about keeping it holds
-- from now on.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), id, state (completed, failed, or '' if the job is gone), count and age (s) of finished jobs to keep
-- ('' for all;
--         count 0 removes the job)
-- Returns 1; 0 if this is known already
local call = redis.call
--- @include discard_job
--- @include prune_finished
local P = string.sub(KEYS[1], 1, -5)
local now, id, set = tonumber(ARGV[1]), ARGV[2], P .. ARGV[3]
local keep_count, keep_age = tonumber(ARGV[4]), tonumber(ARGV[5])
if call('HEXISTS', P .. 'ext:mirror', id) == 0 then
  return 0
end
if ARGV[3] ~= '' and (keep_count or keep_age) and call('ZSCORE', set, id) then
  if keep_count == 0 then
    discard_job(P, id, false)
    call('ZREM', set, id)
  else
    prune_finished(P, set, now, keep_count or -1, keep_age, 1)
  end
end
call('HDEL', P .. 'ext:mirror', id)
return 1
