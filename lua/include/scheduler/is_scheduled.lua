-- Whether a job is the latest iteration of an existing scheduler. Such a job may not be removed without the scheduler.
local function is_scheduled(P, id, scheduler_id)
  if not scheduler_id or scheduler_id == '' then
    return false
  end
  local millis = call('ZSCORE', P .. 'repeat', scheduler_id)
  return millis and id == 'repeat:' .. scheduler_id .. ':' .. millis
end
