-- Whether a job is locked or, with `children`, any job that it waits for.
local function is_locked(job_key, children, seen)
  if call('EXISTS', job_key .. ':lock') == 1 then
    return true
  end
  seen[job_key] = true
  for _, child_key in ipairs(children and call('SMEMBERS', job_key .. ':dependencies') or {}) do
    if not seen[child_key] and is_locked(child_key, true, seen) then
      return true
    end
  end
  return false
end
