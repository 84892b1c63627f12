--- @include release_lock
-- What every attempt that goes back to the queue does first: checks the job and its lock, records the failure if
-- there is one, removes the job from active. 0, -1, -2, -3 or -6; after -3 lock and fields are already written.
local function leave_active(P, id, token, failed_reason, stacktrace)
  local job_key = P .. id
  if call('EXISTS', job_key) == 0 then
    return -1
  end
  local code = release_lock(P, id, token)
  if code ~= 0 then
    return code
  end
  if failed_reason ~= '' or stacktrace ~= '' then
    call('HSET', job_key, 'failedReason', failed_reason, 'stacktrace', stacktrace)
  end
  return call('LREM', P .. 'active', -1, id) == 1 and 0 or -3
end
