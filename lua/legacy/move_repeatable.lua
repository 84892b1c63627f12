-- Makes a job scheduler of a repeatable of Bull, in the same slot, with its pending job. If the scheduler exists, the repeatable was
-- added again after its move: then the scheduler gets its template.
-- KEYS[1] <prefix>:<queue>:meta of Bull's queue
-- KEYS[2] <prefix>:<queue>:meta of BullMQ's queue
-- ARGV    now, repeatable (the member of `repeat`), next (ms, as text), from (delayed, wait or paused), pending_id ('' without a pending
--         job), seen_opts (its options as they were seen), scheduler_id, name, opts_json (of the next job, see add_job_scheduler),
--         prev_millis ('' with an interval), priority, lifo, then the fields of the scheduler's hash except `data`: field, value, ...
-- Returns 1; 2 the scheduler existed; 0 the repeatable is not there any more, or it or its job has changed
-- Events  added, then waiting or delayed
local call = redis.call
--- @include attempt
--- @include enter_place
--- @include get_target
--- @include store_scheduler_job
local P, T = string.sub(KEYS[1], 1, -5), string.sub(KEYS[2], 1, -5)
local now, repeatable, next, from, pending_id, seen_opts = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local scheduler_id, name, opts, priority = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[11])
if not now or not priority or #ARGV < 14 or #ARGV % 2 ~= 0 or not string.find(opts, '^{.*}$') then
  return redis.error_reply('ERR move_repeatable: malformed arguments')
end
if tonumber(call('ZSCORE', P .. 'repeat', repeatable)) ~= tonumber(next) then
  return 0
end
local from_key, pending_key, is_list, due = P .. from, P .. pending_id, from ~= 'delayed', nil
if pending_id ~= '' then
  due = not is_list and call('ZSCORE', from_key, pending_id)
  local is_there = due or is_list and call('LPOS', from_key, pending_id, 'RANK', '-1')
  if not is_there or call('HGET', pending_key, 'opts') ~= seen_opts then
    return 0
  end
end
local data = pending_id ~= '' and call('HGET', pending_key, 'data') or '{}'

local scheduler_key, known = T .. 'repeat:' .. scheduler_id, call('ZSCORE', T .. 'repeat', scheduler_id)
local template = { unpack(ARGV, 13) }
if data ~= '{}' then
  template[#template + 1], template[#template + 2] = 'data', data
end
local job_id = 'repeat:' .. scheduler_id .. ':' .. string.format('%.0f', next)

-- The new job comes first, then the old one goes; if that is refused, the new one is taken back.
attempt(function()
  if known then
    for i = 1, #template, 2 do
      if template[i] ~= 'ic' and template[i] ~= 'offset' then -- its jobs are counted on, at their times
        call('HSET', scheduler_key, template[i], template[i + 1])
      end
    end
  else
    call('HSET', scheduler_key, unpack(template))
    local target, blocked, settings = get_target(T)
    store_scheduler_job(T, scheduler_id, tonumber(next), {
      now = now,
      name = name,
      data = data,
      opts = opts,
      prev_millis = ARGV[10],
      priority = priority,
      lifo = ARGV[12] == '1',
      deid = '',
    }, target, blocked, settings)
  end
  call('ZREM', P .. 'repeat', repeatable)
  if pending_id ~= '' and is_list then
    call('LREM', from_key, '-1', pending_id)
  elseif pending_id ~= '' then
    call('ZREM', from_key, pending_id)
  end
end, function()
  call('ZADD', P .. 'repeat', next, repeatable)
  if not known then
    undo_enter({ key = T .. 'repeat', ids = { scheduler_id } })
    undo_enter({ key = T .. 'delayed', ids = { job_id } })
    undo_enter({ key = T .. 'prioritized', ids = { job_id } })
    local target, push = get_target(T), ARGV[12] == '1' and 'RPUSH' or 'LPUSH'
    if call('LINDEX', target, push == 'LPUSH' and 0 or -1) == job_id then
      undo_enter({ key = target, push = push, ids = { job_id } })
    end
    call('UNLINK', scheduler_key, T .. job_id)
  end
end)
if pending_id ~= '' then
  call('UNLINK', pending_key, pending_key .. ':logs')
  redis.pcall('ZREM', P .. 'priority', pending_id)
end
return known and 2 or 1
