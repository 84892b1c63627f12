-- Whether a job may finish: 0, or the code or error text of its refusal. `job` are the fields that decide (see
-- finish_runs). Notes the lock of a job whose token is right, also if the job is no longer active. `is_sought_last`:
-- the caller finds out by itself whether the job is active.
local function check_job(batch, run, index, id, job, token, is_sought_last)
  if job.err then -- the key is no hash any more
    return -1
  elseif not job[1] and not (run.keep_count == 0 and token ~= '0' and batch.locks[index] == token)
    and call('EXISTS', batch.job_keys[index]) == 0 then
    return -1
  end
  if batch.has_children and run.completed then
    --- @include check_children
    local code = check_children(batch.job_keys[index])
    if code ~= 0 then
      return code
    end
  end
  if token ~= '0' then
    local seen = batch.seen
    local holder = not seen[id] and batch.locks[index]
    if holder ~= token then
      return holder and -6 or -2
    end
    local released = batch.released + 1
    seen[id] = true
    batch.released, batch.released_keys[released] = released, batch.lock_keys[index]
  end
  return (is_sought_last or take_from_active(batch.leaving, id)) and 0 or -3
end
