--- @include enter_place
--- @include undo_enter
--- @include get_target
--- @include store_scheduler_job
-- Stores a job scheduler that was a repeatable of Bull, with its next job at `next` (ms). `job` is that of
-- store_scheduler_job, and `template` has the fields of the scheduler's hash. If the scheduler exists, the repeatable
-- was added again after its move: then it gets the template only. Returns whether it existed.
local function take_schedule(T, scheduler_id, next, job, template)
  local scheduler_key = T .. 'repeat:' .. scheduler_id
  if call('ZSCORE', T .. 'repeat', scheduler_id) then
    for i = 1, #template, 2 do
      if template[i] ~= 'ic' and template[i] ~= 'offset' then -- its jobs are counted on, at their times
        call('HSET', scheduler_key, template[i], template[i + 1])
      end
    end
    return true
  end
  call('HSET', scheduler_key, unpack(template))
  local target, blocked, settings = get_target(T)
  store_scheduler_job(T, scheduler_id, tonumber(next), job, target, blocked, settings)
  return false
end

-- Takes back a take_schedule of this call that made a scheduler.
local function undo_take_schedule(T, scheduler_id, next, lifo)
  local job_id = 'repeat:' .. scheduler_id .. ':' .. string.format('%.0f', next)
  undo_enter({ key = T .. 'repeat', ids = { scheduler_id } })
  undo_enter({ key = T .. 'delayed', ids = { job_id } })
  undo_enter({ key = T .. 'prioritized', ids = { job_id } })
  local target, push = get_target(T), lifo and 'RPUSH' or 'LPUSH'
  if call('LINDEX', target, push == 'LPUSH' and 0 or -1) == job_id then
    undo_enter({ key = target, push = push, ids = { job_id } })
  end
  call('UNLINK', T .. 'repeat:' .. scheduler_id, T .. job_id)
end
