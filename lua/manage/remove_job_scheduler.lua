--- Removes a job scheduler and, if it is delayed, its next job. A job of it that is already in wait still runs.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    scheduler_id, oldest_stem (the text after "repeat:" in the ids of its jobs if the scheduler is a repeatable
---         of the oldest form, else "")
--- Returns 1, or 0 when there is no such scheduler
--- Events  removed, for the delayed job
local call = redis.call
--- @include remove_job_keys
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local scheduler_id, oldest_stem = ARGV[1], ARGV[2]
if not oldest_stem then
  return redis.error_reply('ERR remove_job_scheduler: malformed arguments')
end

local latest = call('ZSCORE', P .. 'repeat', scheduler_id)
if latest then
  for _, stem in ipairs({ scheduler_id, oldest_stem ~= '' and oldest_stem or nil }) do
    local id = 'repeat:' .. stem .. ':' .. latest
    if call('ZSCORE', P .. 'delayed', id) then
      remove_job_keys(P .. id)
      call('ZREM', P .. 'delayed', id) -- last, so that a stopped call can be made again
      call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'removed', 'jobId', id,
        'prev', 'delayed')
    end
  end
end
local removed = call('ZREM', P .. 'repeat', scheduler_id)
call('DEL', P .. 'repeat:' .. scheduler_id)
return removed
