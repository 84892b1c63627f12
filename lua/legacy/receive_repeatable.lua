-- Makes a job scheduler of a repeatable of Bull on another server or in another slot, with its next job. Made again, it
-- changes nothing.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    next (ms, as text), now, scheduler_id, name, data, opts_json (of the next job, see add_job_scheduler),
-- prev_millis ('' with
--         an interval), priority, lifo, then the fields of the scheduler's hash: field, value, ...
-- Returns 1; 2 the scheduler existed, and has the template now
-- Events  added, then waiting or delayed
local call = redis.call
--- @include attempt
--- @include take_schedule
local T = string.sub(KEYS[1], 1, -5)
local next, scheduler_id, lifo = ARGV[1], ARGV[3], ARGV[9] == '1'
local job = { now = tonumber(ARGV[2]), name = ARGV[4], data = ARGV[5], opts = ARGV[6], prev_millis = ARGV[7],
  priority = tonumber(ARGV[8]), lifo = lifo, deid = '' }
if not job.now or not job.priority or #ARGV < 11 or #ARGV % 2 == 0 or not string.find(job.opts, '^{.*}$') then
  return redis.error_reply('ERR receive_repeatable: malformed arguments')
end
local known = call('ZSCORE', T .. 'repeat', scheduler_id)
attempt(function()
  take_schedule(T, scheduler_id, next, job, { unpack(ARGV, 10) })
end, function()
  if not known then
    undo_take_schedule(T, scheduler_id, next, lifo)
  end
end)
return known and 2 or 1
