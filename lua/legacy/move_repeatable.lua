-- Makes a job scheduler of a repeatable of Bull, in the same slot, with its pending job. If the scheduler exists, the
-- repeatable was added again after its move: then the scheduler gets its template.
-- KEYS[1] <prefix>:<queue>:meta of Bull's queue
-- KEYS[2] <prefix>:<queue>:meta of BullMQ's queue
-- ARGV    repeatable (the member of `repeat`), next (ms, as text), from (delayed, wait, paused, or active if its worker
-- died before
--         it made the next one), pending_id ('' without a pending job), seen_opts (its options as they were seen), now,
--         scheduler_id, name, opts_json (of the next job, see add_job_scheduler), prev_millis ('' with an interval),
--         priority, lifo, then the fields of the scheduler's hash except `data`: field, value, ...
-- Returns 1; 2 the scheduler existed; 0 the repeatable is not there any more, or it or its job has changed
-- Events  added, then waiting or delayed
local call = redis.call
--- @include attempt
--- @include find_pending
--- @include take_schedule
local P, T = string.sub(KEYS[1], 1, -5), string.sub(KEYS[2], 1, -5)
local repeatable, next, from, pending_id, seen_opts = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local now, scheduler_id, priority, lifo = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[11]), ARGV[12] == '1'
if not now or not priority or #ARGV < 14 or #ARGV % 2 ~= 0 or not string.find(ARGV[9], '^{.*}$') then
  return redis.error_reply('ERR move_repeatable: malformed arguments')
end
if not find_pending(P, repeatable, next, from, pending_id, seen_opts) then
  return 0
end
local data = pending_id ~= '' and call('HGET', P .. pending_id, 'data') or '{}'
local template = { unpack(ARGV, 13) }
if data ~= '{}' then
  template[#template + 1], template[#template + 2] = 'data', data
end
local job = { now = now, name = ARGV[8], data = data, opts = ARGV[9], prev_millis = ARGV[10], priority = priority, lifo = lifo,
  deid = '' }

-- The new job comes first, then the old one goes; if that is refused, the new one is taken back.
local known = call('ZSCORE', T .. 'repeat', scheduler_id)
attempt(function()
  take_schedule(T, scheduler_id, next, job, template)
  leave_places(P, repeatable, from, pending_id)
end, function()
  call('ZADD', P .. 'repeat', next, repeatable)
  if not known then
    undo_take_schedule(T, scheduler_id, next, lifo)
  end
end)
forget_pending(P, pending_id)
return known and 2 or 1
